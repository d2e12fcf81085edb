-- What of a tenant waits for the service or for a person: each kind counted up to a bound, and since when.
SELECT
    (SELECT count(*)
     FROM (SELECT 1 AS one FROM memory_embedding e
           WHERE e.tenant_id = %(tenant_id)s AND e.model_no = (SELECT i.model_no FROM instance i) AND e.state = 2
           LIMIT %(most)s) w) AS embeddings,
    (SELECT min(m.create_time)
     FROM (SELECT e.scope_no, e.doc_no FROM memory_embedding e
           WHERE e.tenant_id = %(tenant_id)s AND e.model_no = (SELECT i.model_no FROM instance i) AND e.state = 2
           LIMIT %(most)s) w
     JOIN scope s ON s.tenant_id = %(tenant_id)s AND s.scope_no = w.scope_no
     JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.scope_id = s.scope_id AND m.doc_no = w.doc_no)
        AS embeddings_since,
    (SELECT count(*)
     FROM (SELECT 1 AS one FROM ingest q WHERE q.tenant_id = %(tenant_id)s AND q.state = 1 LIMIT %(most)s) w)
        AS ingests,
    (SELECT min(c.due_time) FROM ingest_session c
     WHERE c.tenant_id = %(tenant_id)s AND c.due_time IS NOT NULL) AS ingests_since,
    (SELECT count(*)
     FROM (SELECT 1 AS one FROM memory r WHERE r.tenant_id = %(tenant_id)s AND r.state IN (1, 5) LIMIT %(most)s) w)
        AS reviews,
    (SELECT count(*)
     FROM (SELECT 1 AS one FROM audit_queue a WHERE a.tenant_id = %(tenant_id)s LIMIT %(most)s) w) AS events
