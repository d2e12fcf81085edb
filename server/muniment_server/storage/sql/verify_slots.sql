-- Slots that more than one live memory holds.
SELECT scope_id, array_agg(memory_id ORDER BY memory_id) AS memory_ids
FROM memory
WHERE tenant_id = %(tenant_id)s AND slot IS NOT NULL AND state = 2
GROUP BY scope_id, slot, agent, session
HAVING count(*) > 1
LIMIT %(limit)s
