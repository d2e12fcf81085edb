-- Removes vectors of a scope that belong to no memory in it.
DELETE FROM memory_embedding
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s
      AND NOT doc_no = ANY(ARRAY(SELECT m.doc_no FROM memory m
                                 WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s))
RETURNING (embedding IS NOT NULL)::integer AS vectors
