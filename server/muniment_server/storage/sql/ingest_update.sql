-- How far an ingest has come.
UPDATE ingest SET state = %(state)s, body_ct = %(body_ct)s, end_time = %(end_time)s
WHERE tenant_id = %(tenant_id)s AND ingest_id = %(ingest_id)s
