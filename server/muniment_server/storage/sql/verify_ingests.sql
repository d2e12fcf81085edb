-- Ingests in order, each with the conversation that it says it belongs to.
SELECT i.ingest_id, i.scope_id, i.conversation_id, i.key_epoch, i.state, i.attempts, i.body_ct, i.create_time,
       i.end_time, s.conversation_id AS conversation, s.scope_id AS conversation_scope, s.agent, s.session
FROM ingest i
LEFT JOIN ingest_session s ON s.tenant_id = %(tenant_id)s AND s.conversation_id = i.conversation_id
WHERE i.tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR i.ingest_id > %(after)s::uuid)
ORDER BY i.ingest_id
LIMIT %(limit)s
