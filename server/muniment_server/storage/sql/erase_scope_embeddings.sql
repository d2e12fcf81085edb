-- Removes all vectors of a scope.
DELETE FROM memory_embedding
WHERE tenant_id = %(tenant_id)s AND scope_no = ANY(%(scope_nos)s::bigint[])
RETURNING (embedding IS NOT NULL)::integer AS vectors
