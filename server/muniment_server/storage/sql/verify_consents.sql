-- What the trail says that subjects decided, in the order in which it was decided.
SELECT event_id, event_time, action, outcome, actor, scope_id, agent, session, trace_id, recall_id,
       memory_ids, source_types, payload, mac
FROM audit_event
WHERE tenant_id = %(tenant_id)s AND action = 16 AND outcome = 1 AND scope_id IS NOT NULL
      AND (%(after)s::uuid IS NULL OR event_id > %(after)s::uuid)
ORDER BY event_id
LIMIT %(limit)s
