-- Takes memories out of the lexical index.
DELETE FROM posting
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND token = ANY(%(tokens)s::bigint[])
      AND doc_no = ANY(%(doc_nos)s::integer[])
