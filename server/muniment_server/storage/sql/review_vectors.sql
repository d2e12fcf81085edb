-- The vectors of texts, by scope and document.
SELECT e.scope_no, e.doc_no, e.content_revision, e.embedding
FROM unnest(%(scope_nos)s::bigint[], %(doc_nos)s::integer[], %(content_revisions)s::integer[])
     AS w (scope_no, doc_no, content_revision)
JOIN memory_embedding e ON e.tenant_id = %(tenant_id)s AND e.scope_no = w.scope_no
     AND e.model_no = %(model_no)s AND e.doc_no = w.doc_no AND e.content_revision = w.content_revision
WHERE e.embedding IS NOT NULL
