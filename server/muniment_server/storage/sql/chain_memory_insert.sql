-- Makes events findable by the memories that they name.
INSERT INTO audit_memory (tenant_id, memory_id, event_id)
SELECT %(tenant_id)s, m.memory_id, m.event_id
FROM unnest(%(memory_ids)s::uuid[], %(event_ids)s::uuid[]) AS m (memory_id, event_id)
ON CONFLICT DO NOTHING
