-- All that a tenant set for itself, and what its agents may see (encrypted), in one snapshot: the mac of
-- the first part covers the other two. Values as text: a number must come out as it went in.
SELECT 1 AS part, NULL AS name, NULL AS value, revision, mac, update_time
FROM tenant_policy
WHERE tenant_id = %(tenant_id)s
UNION ALL
SELECT 2, name, value::text, NULL, NULL, update_time
FROM tenant_setting
WHERE tenant_id = %(tenant_id)s
UNION ALL
SELECT 3, agent, view_ct, NULL, NULL, update_time
FROM agent_view
WHERE tenant_id = %(tenant_id)s
ORDER BY part, name
