-- Whether there is a vector of the model in use, for texts of a scope.
SELECT e.doc_no, e.content_revision, e.state
FROM memory_embedding e
WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = (SELECT i.model_no FROM instance i)
      AND e.doc_no = ANY(%(doc_nos)s::bigint[])
