-- Removes the vectors of memories, for every model.
DELETE FROM memory_embedding
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND doc_no = ANY(%(doc_nos)s::integer[])
RETURNING (embedding IS NOT NULL)::integer AS vectors
