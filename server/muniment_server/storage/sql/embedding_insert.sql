-- Stores what a model made of a text.
INSERT INTO memory_embedding
    (tenant_id, scope_no, model_no, doc_no, content_revision, state, embedding, seal)
VALUES
    (%(tenant_id)s, %(scope_no)s, %(model_no)s, %(doc_no)s, %(content_revision)s, %(state)s, %(embedding)s, %(seal)s)
