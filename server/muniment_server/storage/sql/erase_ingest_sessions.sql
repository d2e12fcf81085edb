-- Removes the conversations of a scope, or the given ones.
DELETE FROM ingest_session s
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s
      AND (%(conversation_ids)s::uuid[] IS NULL OR s.conversation_id = ANY(%(conversation_ids)s::uuid[]))
RETURNING 1 AS one
