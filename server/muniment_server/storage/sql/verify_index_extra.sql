-- Events that are found by a memory that they do not name.
SELECT DISTINCT a.event_id
FROM audit_memory a
LEFT JOIN audit_event e ON e.tenant_id = %(tenant_id)s AND e.event_id = a.event_id
WHERE a.tenant_id = %(tenant_id)s AND (e.event_id IS NULL OR NOT a.memory_id = ANY(e.memory_ids))
LIMIT %(limit)s
