-- Memories that have waited for a person since before a moment, the oldest first.
SELECT memory_id, scope_id
FROM memory
WHERE tenant_id = %(tenant_id)s AND state IN (1, 5) AND update_time < %(before)s
ORDER BY update_time, memory_id
LIMIT %(limit)s
