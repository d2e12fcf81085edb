-- Removes the history of memories; returns what the set digest has to lose.
DELETE FROM memory_revision
WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
RETURNING seal
