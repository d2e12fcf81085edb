-- Removes a scope from the lexical index.
DELETE FROM posting
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s
RETURNING 1 AS one
