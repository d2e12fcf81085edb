-- Memories of a scope of which a model has made nothing yet; on request also those it made no vector of.
SELECT m.*
FROM memory m
LEFT JOIN memory_embedding e
    ON e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s
       AND e.doc_no = m.doc_no AND e.content_revision = m.content_revision
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.doc_no > %(after)s
      AND (e.doc_no IS NULL OR e.state = 2 OR (%(again)s AND e.state = 3))
ORDER BY m.doc_no
LIMIT %(limit)s
