-- The given memories and what came in their place: what replaced them, what replaced that, and so on.
WITH RECURSIVE line AS (
    SELECT m.memory_id, m.superseded_by, m.state, m.update_time
    FROM memory m
    WHERE m.tenant_id = %(tenant_id)s AND m.memory_id = ANY(%(memory_ids)s::uuid[])
    UNION
    SELECT m.memory_id, m.superseded_by, m.state, m.update_time
    FROM line l
    JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.memory_id = l.superseded_by
)
SELECT memory_id, state, update_time FROM line
