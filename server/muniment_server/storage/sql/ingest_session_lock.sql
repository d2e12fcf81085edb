-- Locks a conversation.
SELECT due_time, lease_time, worker
FROM ingest_session
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s
FOR UPDATE
