-- How many memories of a scope wait for the vector of the model in use.
SELECT count(*) AS waiting, max(m.create_time) AS newest
FROM memory_embedding e
JOIN scope s ON s.tenant_id = %(tenant_id)s AND s.scope_no = e.scope_no
JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.scope_id = s.scope_id AND m.doc_no = e.doc_no
WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.state = 2
      AND e.model_no = (SELECT i.model_no FROM instance i)
      AND (%(before)s::timestamptz IS NULL OR m.create_time <= %(before)s)
