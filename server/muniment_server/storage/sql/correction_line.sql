-- The given memories and what came in their place: what replaced them, what replaced that, and so on. Also what
-- came in the place of one that was not live any more then, and so does not know it.
WITH RECURSIVE line AS (
    SELECT m.memory_id, m.superseded_by, m.state, m.update_time
    FROM memory m
    WHERE m.tenant_id = %(tenant_id)s AND m.memory_id = ANY(%(memory_ids)s::uuid[])
    UNION
    SELECT m.memory_id, m.superseded_by, m.state, m.update_time
    FROM line l
    JOIN memory m ON m.tenant_id = %(tenant_id)s
         AND (m.memory_id = l.superseded_by OR (m.supersedes = l.memory_id AND m.state IN (2, 3)))
)
SELECT memory_id, state, update_time FROM line
