-- Empties what was noted of erased turns.
UPDATE ingest_turn SET memory_id = NULL, digest = ''::bytea
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
RETURNING 1 AS one
