-- Removes index entries of a scope that belong to no live memory in it (state 2 is ACTIVE).
DELETE FROM posting
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s
      AND NOT doc_no = ANY(ARRAY(SELECT m.doc_no FROM memory m
                                 WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
                                       AND m.state = 2))
RETURNING 1 AS one
