-- Memories of a scope, by document, that another version of the analysis has seen.
SELECT m.*
FROM memory m
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.doc_no > %(after)s
      AND m.analyzer <> %(analyzer)s
ORDER BY m.doc_no
LIMIT %(limit)s
