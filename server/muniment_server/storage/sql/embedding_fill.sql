-- Stores what a model made of a text where that waits or is missing.
INSERT INTO memory_embedding
    (tenant_id, scope_no, model_no, doc_no, content_revision, state, embedding, seal)
VALUES
    (%(tenant_id)s, %(scope_no)s, %(model_no)s, %(doc_no)s, %(content_revision)s, %(state)s, %(embedding)s, %(seal)s)
ON CONFLICT (tenant_id, scope_no, model_no, doc_no, content_revision) DO UPDATE
    SET state = EXCLUDED.state, embedding = EXCLUDED.embedding, seal = EXCLUDED.seal
    WHERE memory_embedding.state = 2
