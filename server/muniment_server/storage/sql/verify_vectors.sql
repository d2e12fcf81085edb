-- What models made of a scope's documents.
SELECT model_no, doc_no, content_revision, state, embedding, seal
FROM memory_embedding
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND doc_no > %(after)s AND doc_no <= %(last)s
