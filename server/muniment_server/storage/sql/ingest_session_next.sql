-- When the next conversation of the tenant is to be looked at.
SELECT min(greatest(due_time, coalesce(lease_time, due_time))) AS due_time
FROM ingest_session
WHERE tenant_id = %(tenant_id)s AND due_time IS NOT NULL
