-- Turns of a session before a number, the nearest first.
SELECT memory_id
FROM memory
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND origin_session = %(session)s
      AND agent IS NOT DISTINCT FROM %(agent)s AND kind = 7 AND state = 2 AND turn_number < %(turn_number)s
ORDER BY turn_number DESC
LIMIT %(limit)s
