-- Removes rows of a scope that wait for the vector of a text which is not its memory's any more.
DELETE FROM memory_embedding
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND model_no = %(model_no)s AND state = 2
      AND NOT EXISTS (SELECT FROM memory m
                      WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
                            AND m.doc_no = memory_embedding.doc_no
                            AND m.content_revision = memory_embedding.content_revision)
