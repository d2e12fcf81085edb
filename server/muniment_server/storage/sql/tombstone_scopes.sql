-- The scopes that the memories named by events of erasures stood in.
SELECT DISTINCT t.scope_id
FROM audit_event e
JOIN tombstone t ON t.tenant_id = %(tenant_id)s AND t.memory_id = ANY(e.memory_ids)
WHERE e.tenant_id = %(tenant_id)s AND e.event_id = ANY(%(event_ids)s::uuid[])
