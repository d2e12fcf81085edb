-- Removes memories from the lexical index, whatever their tokens are said to be.
DELETE FROM posting
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND doc_no = ANY(%(doc_nos)s::integer[])
RETURNING 1 AS one
