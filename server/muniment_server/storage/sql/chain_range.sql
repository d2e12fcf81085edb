-- The chain from after one place up to another, with the events that stand in it.
SELECT c.sequence, c.event_id, c.digest, e.event_id IS NOT NULL AS present, e.event_time, e.action,
       e.outcome, e.actor, e.scope_id, e.agent, e.session, e.trace_id, e.recall_id, e.memory_ids,
       e.source_types, e.payload, e.mac
FROM audit_chain c
LEFT JOIN audit_event e ON e.tenant_id = %(tenant_id)s AND e.event_id = c.event_id
WHERE c.tenant_id = %(tenant_id)s AND c.sequence > %(after)s AND c.sequence <= %(last)s
ORDER BY c.sequence
LIMIT %(limit)s
