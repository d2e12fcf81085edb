-- Chained events that are not found by a memory that they name.
SELECT DISTINCT e.event_id
FROM audit_chain c
JOIN audit_event e ON e.tenant_id = %(tenant_id)s AND e.event_id = c.event_id
CROSS JOIN unnest(e.memory_ids) AS m (memory_id)
WHERE c.tenant_id = %(tenant_id)s
      AND NOT EXISTS (SELECT FROM audit_memory a
                      WHERE a.tenant_id = %(tenant_id)s AND a.memory_id = m.memory_id
                            AND a.event_id = e.event_id)
LIMIT %(limit)s
