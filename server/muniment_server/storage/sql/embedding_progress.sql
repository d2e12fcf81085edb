-- How many memories of a tenant there are, and how many of them a model has seen.
SELECT (SELECT count(*) FROM memory m WHERE m.tenant_id = %(tenant_id)s) AS memories,
       (SELECT count(*) FROM memory_embedding e
        WHERE e.tenant_id = %(tenant_id)s AND e.model_no = %(model_no)s AND e.state <> 2) AS done
