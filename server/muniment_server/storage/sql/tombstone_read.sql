-- Tombstones of the given memories.
SELECT memory_id, scope_id, erasure_id, erase_time
FROM tombstone
WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
