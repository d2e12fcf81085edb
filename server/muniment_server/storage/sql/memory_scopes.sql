-- The scopes of the given memories, to be locked before the memories are.
SELECT memory_id, scope_id
FROM memory
WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
