-- Marks documents as waiting for every model in use of which nothing was stored with them.
INSERT INTO memory_embedding
    (tenant_id, scope_no, model_no, doc_no, content_revision, state, embedding, seal)
SELECT %(tenant_id)s, %(scope_no)s, u.model_no, d.doc_no, d.content_revision, 2, NULL, d.seal
FROM (SELECT i.model_no FROM instance i
      UNION
      SELECT r.to_no FROM reindex r WHERE r.kind = 1 AND r.state IN (1, 2)) u (model_no)
CROSS JOIN unnest(%(doc_nos)s::integer[], %(content_revisions)s::integer[], %(seals)s::bytea[])
    AS d (doc_no, content_revision, seal)
WHERE NOT u.model_no = ANY(%(model_nos)s::smallint[])
