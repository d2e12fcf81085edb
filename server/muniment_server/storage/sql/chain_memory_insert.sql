-- Makes events findable by the memories that they name.
INSERT INTO audit_memory (tenant_id, memory_id, event_id)
SELECT DISTINCT e.tenant_id, m.memory_id, e.event_id
FROM audit_event e
CROSS JOIN unnest(e.memory_ids) AS m (memory_id)
WHERE e.tenant_id = %(tenant_id)s AND e.event_id = ANY(%(event_ids)s::uuid[])
ON CONFLICT DO NOTHING
