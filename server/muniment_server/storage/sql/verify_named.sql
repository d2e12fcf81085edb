-- What became of memories that events name: where they stand now, and whether a tombstone is left.
SELECT n.memory_id, m.scope_id, m.revision, m.state, t.memory_id IS NOT NULL AS erased
FROM unnest(%(memory_ids)s::uuid[]) AS n (memory_id)
LEFT JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.memory_id = n.memory_id
LEFT JOIN tombstone t ON t.tenant_id = %(tenant_id)s AND t.memory_id = n.memory_id
