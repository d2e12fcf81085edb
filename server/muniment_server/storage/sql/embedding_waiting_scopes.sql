-- Scopes in which something waits for a model's vector.
SELECT s.scope_id
FROM scope s
WHERE s.tenant_id = %(tenant_id)s
      AND s.scope_no = ANY(ARRAY(SELECT DISTINCT e.scope_no FROM memory_embedding e
                                 WHERE e.tenant_id = %(tenant_id)s AND e.model_no = %(model_no)s
                                       AND e.state = 2
                                 LIMIT %(limit)s))
