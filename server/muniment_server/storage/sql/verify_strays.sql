-- Rows that belong to nothing: no memory, another scope than their memory's, or no scope.
SELECT 'memory' AS place, m.scope_id, m.memory_id
FROM memory m
LEFT JOIN scope s ON s.tenant_id = %(tenant_id)s AND s.scope_id = m.scope_id
WHERE m.tenant_id = %(tenant_id)s AND s.scope_id IS NULL
UNION ALL
SELECT 'memory_revision', h.scope_id, h.memory_id
FROM memory_revision h
LEFT JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.memory_id = h.memory_id
WHERE h.tenant_id = %(tenant_id)s AND (m.memory_id IS NULL OR m.scope_id <> h.scope_id)
UNION ALL
SELECT DISTINCT 'memory_embedding', NULL::uuid, NULL::uuid
FROM memory_embedding e
LEFT JOIN scope s ON s.tenant_id = %(tenant_id)s AND s.scope_no = e.scope_no
WHERE e.tenant_id = %(tenant_id)s AND s.scope_id IS NULL
UNION ALL
SELECT DISTINCT 'posting', NULL::uuid, NULL::uuid
FROM posting p
LEFT JOIN scope s ON s.tenant_id = %(tenant_id)s AND s.scope_no = p.scope_no
WHERE p.tenant_id = %(tenant_id)s AND s.scope_id IS NULL
LIMIT %(limit)s
