-- The name of a tenant, and its seal.
SELECT tenant_id, name, seal
FROM tenant
WHERE tenant_id = %(tenant_id)s
