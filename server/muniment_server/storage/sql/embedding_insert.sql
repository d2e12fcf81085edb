-- Stores vectors, one per content revision and model.
INSERT INTO memory_embedding (tenant_id, scope_no, model_no, doc_no, content_revision, embedding, seal)
VALUES (%(tenant_id)s, %(scope_no)s, %(model_no)s, %(doc_no)s, %(content_revision)s, %(embedding)s, %(seal)s)
