-- Memories that were erased and are there nevertheless.
SELECT m.memory_id, m.scope_id
FROM tombstone t
JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.memory_id = t.memory_id
WHERE t.tenant_id = %(tenant_id)s
ORDER BY m.memory_id
LIMIT %(limit)s
