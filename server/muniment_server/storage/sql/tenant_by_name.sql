-- The id of a tenant. Row-level security shows the one whose name is set, nothing else.
SELECT tenant_id, name, seal
FROM tenant
WHERE name = %(name)s
