-- Removes a scope from the lexical index.
DELETE FROM posting
WHERE tenant_id = %(tenant_id)s AND scope_no = ANY(%(scope_nos)s::bigint[])
RETURNING 1 AS one
