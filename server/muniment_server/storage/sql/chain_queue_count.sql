-- How many events of a tenant wait for their place in the chain.
SELECT count(*) AS waiting
FROM audit_queue
WHERE tenant_id = %(tenant_id)s
