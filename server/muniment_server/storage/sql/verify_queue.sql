-- What waits for its place in the chain: the event, if there is one, and whether it has a place already.
SELECT q.event_id, e.event_id IS NOT NULL AS present,
       EXISTS (SELECT FROM audit_chain c
               WHERE c.tenant_id = %(tenant_id)s AND c.event_id = q.event_id) AS chained,
       e.event_time, e.action, e.outcome, e.actor, e.scope_id, e.agent, e.session, e.trace_id, e.recall_id,
       e.memory_ids, e.source_types, e.payload, e.mac
FROM audit_queue q
LEFT JOIN audit_event e ON e.tenant_id = %(tenant_id)s AND e.event_id = q.event_id
WHERE q.tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR q.event_id > %(after)s::uuid)
ORDER BY q.event_id
LIMIT %(limit)s
