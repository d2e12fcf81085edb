-- Removes a scope's rows of a model that is neither in use nor being changed to.
DELETE FROM memory_embedding
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND model_no = %(model_no)s
      AND NOT EXISTS (SELECT FROM instance i WHERE i.model_no = %(model_no)s)
      AND NOT EXISTS (SELECT FROM reindex r
                      WHERE r.to_no = %(model_no)s AND r.kind = 1 AND r.state IN (1, 2))
