-- How many memories of a scope wait for the vector of the model in use.
SELECT i.model_no,
       (SELECT count(*)
        FROM memory_embedding e
        LEFT JOIN scope s ON s.tenant_id = %(tenant_id)s AND s.scope_no = e.scope_no
        LEFT JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.scope_id = s.scope_id AND m.doc_no = e.doc_no
        WHERE e.tenant_id = %(tenant_id)s AND e.model_no = i.model_no AND e.scope_no = %(scope_no)s
              AND e.state = 2
              AND (%(before)s::timestamptz IS NULL OR m.create_time <= %(before)s)) AS waiting
FROM instance i
