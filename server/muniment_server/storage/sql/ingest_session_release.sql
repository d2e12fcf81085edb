-- Gives a conversation back. Due again at the given time, or never while nothing waits.
UPDATE ingest_session SET lease_time = NULL, worker = NULL, due_time = %(due_time)s
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND worker = %(worker)s
