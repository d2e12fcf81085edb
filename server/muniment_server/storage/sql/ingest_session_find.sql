-- The conversations of a session in a scope: of one agent, or of every one that is in reach.
SELECT conversation_id
FROM ingest_session
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session = %(session)s
      AND (%(agent)s::text IS NULL OR agent = %(agent)s)
      AND (%(bound_agent)s::text IS NULL OR agent IS NULL OR agent = %(bound_agent)s)
ORDER BY conversation_id
FOR UPDATE
