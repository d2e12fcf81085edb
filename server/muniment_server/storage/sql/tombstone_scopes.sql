-- The scopes that erased memories stood in.
SELECT DISTINCT scope_id
FROM tombstone
WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
