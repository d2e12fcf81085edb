-- Removes what was noted of the turns of a scope, or of one session of it.
DELETE FROM ingest_turn t
WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s
      AND (%(conversation_ids)s::uuid[] IS NULL OR t.conversation_id = ANY(%(conversation_ids)s::uuid[]))
RETURNING 1 AS one
