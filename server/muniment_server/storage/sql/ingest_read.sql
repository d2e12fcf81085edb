-- The given ingests, and whether a worker is at their conversation.
SELECT i.ingest_id, i.scope_id, i.conversation_id, i.key_epoch, i.state, i.attempts, i.body_ct, i.create_time, i.end_time,
       coalesce(s.lease_time > %(now)s, false) AS leased
FROM ingest i
LEFT JOIN ingest_session s ON s.tenant_id = %(tenant_id)s AND s.conversation_id = i.conversation_id
WHERE i.tenant_id = %(tenant_id)s AND i.ingest_id = ANY(%(ingest_ids)s::uuid[])
ORDER BY i.ingest_id
