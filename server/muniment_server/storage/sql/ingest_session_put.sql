-- Notes when a conversation's waiting turns are due. Without a due time nothing new waits; what is due already
-- stays due. The id is made of scope, agent and session with the tenant's key, so these are right whatever
-- somebody made of the row.
INSERT INTO ingest_session (tenant_id, conversation_id, scope_id, agent, session, due_time)
VALUES (%(tenant_id)s, %(conversation_id)s, %(scope_id)s, %(agent)s, %(session)s, %(due_time)s)
ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET
    scope_id = excluded.scope_id, agent = excluded.agent, session = excluded.session,
    due_time = CASE
        WHEN excluded.due_time IS NULL OR ingest_session.due_time <= %(now)s THEN ingest_session.due_time
        ELSE excluded.due_time
    END
