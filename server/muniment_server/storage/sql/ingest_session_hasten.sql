-- Makes what waits in a conversation due at once.
UPDATE ingest_session SET due_time = %(now)s
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND due_time > %(now)s
RETURNING 1 AS one
