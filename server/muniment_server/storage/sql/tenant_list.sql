-- All tenants; only the scheduler's role sees them.
SELECT tenant_id, name
FROM tenant
ORDER BY tenant_id
