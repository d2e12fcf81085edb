-- Stores what a model made of a document's text where that waits, is missing or was given up, if the document
-- is there.
INSERT INTO memory_embedding
    (tenant_id, scope_no, model_no, doc_no, content_revision, state, embedding, seal)
SELECT %(tenant_id)s, %(scope_no)s, %(model_no)s, m.doc_no, m.content_revision, %(state)s, %(embedding)s, %(seal)s
FROM memory m
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.doc_no = %(doc_no)s
      AND m.content_revision = %(content_revision)s
ON CONFLICT (tenant_id, scope_no, model_no, doc_no, content_revision) DO UPDATE
    SET state = EXCLUDED.state, embedding = EXCLUDED.embedding, seal = EXCLUDED.seal
    WHERE memory_embedding.state IN (2, 3)
