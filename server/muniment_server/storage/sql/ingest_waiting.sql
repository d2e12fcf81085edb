-- What waits in a conversation, in its order.
SELECT ingest_id, scope_id, conversation_id, key_epoch, state, attempts, body_ct, create_time, end_time
FROM ingest
WHERE tenant_id = %(tenant_id)s AND conversation_id = %(conversation_id)s AND state = 1
ORDER BY ingest_id
LIMIT %(limit)s
FOR UPDATE
