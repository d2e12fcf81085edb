-- The vectors of a scope's documents, of every model.
SELECT model_no, doc_no, content_revision, embedding, seal
FROM memory_embedding
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND doc_no > %(after)s AND doc_no <= %(last)s
