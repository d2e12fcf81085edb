-- Removes all memories of a scope.
DELETE FROM memory
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
RETURNING memory_id
