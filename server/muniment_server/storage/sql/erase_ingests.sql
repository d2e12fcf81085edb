-- Removes the ingests of a scope, or of one session of it.
DELETE FROM ingest i
WHERE i.tenant_id = %(tenant_id)s AND i.scope_id = %(scope_id)s
      AND (%(conversation_ids)s::uuid[] IS NULL OR i.conversation_id = ANY(%(conversation_ids)s::uuid[]))
RETURNING i.state
