-- Counts an attempt.
UPDATE ingest SET attempts = attempts + 1
WHERE tenant_id = %(tenant_id)s AND ingest_id = ANY(%(ingest_ids)s::uuid[])
