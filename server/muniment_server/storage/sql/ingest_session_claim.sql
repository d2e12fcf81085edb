-- Gives a worker the conversation that has been due for longest, or a given one, for a while.
WITH due AS (
    SELECT conversation_id
    FROM ingest_session
    WHERE tenant_id = %(tenant_id)s AND due_time <= %(now)s AND (lease_time IS NULL OR lease_time <= %(now)s)
          AND (%(conversation_id)s::uuid IS NULL OR conversation_id = %(conversation_id)s::uuid)
    ORDER BY due_time, conversation_id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE ingest_session s SET lease_time = %(lease_time)s, worker = %(worker)s
FROM due
WHERE s.tenant_id = %(tenant_id)s AND s.conversation_id = due.conversation_id
RETURNING s.conversation_id, s.scope_id, s.agent, s.session
