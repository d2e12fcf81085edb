-- Leaves a tombstone for each erased memory. One that is there already was put there by somebody else;
-- it must not keep anything from being erased.
INSERT INTO tombstone (tenant_id, memory_id, scope_id, erasure_id, erase_time)
SELECT %(tenant_id)s, t.memory_id, %(scope_id)s, %(erasure_id)s, %(now)s
FROM unnest(%(memory_ids)s::uuid[]) AS t (memory_id)
ON CONFLICT DO NOTHING
