-- Removes memories.
DELETE FROM memory
WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
RETURNING 1 AS one
