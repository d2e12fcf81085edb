-- Events that wait for their place in the chain, in the order of their ids. One that has a place already
-- is left out, however it came back into the queue.
SELECT e.event_id, e.action, e.scope_id, e.payload, e.mac
FROM audit_queue q
JOIN audit_event e ON e.tenant_id = %(tenant_id)s AND e.event_id = q.event_id
WHERE q.tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR q.event_id > %(after)s::uuid)
      AND NOT EXISTS (SELECT FROM audit_chain c
                      WHERE c.tenant_id = %(tenant_id)s AND c.event_id = q.event_id)
ORDER BY q.event_id
LIMIT %(limit)s
