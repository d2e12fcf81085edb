-- Memories of a scope that wait for a model's vector.
SELECT m.*
FROM memory_embedding e
JOIN memory m
    ON m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.doc_no = e.doc_no
       AND m.content_revision = e.content_revision
WHERE e.tenant_id = %(tenant_id)s AND e.model_no = %(model_no)s AND e.scope_no = %(scope_no)s
      AND e.doc_no > %(after)s AND e.state = 2
ORDER BY e.doc_no
LIMIT %(limit)s
