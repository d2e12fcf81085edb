-- The acts of operators (23 is ADMINISTER), newest first, older than the event that is given.
SELECT event_id, event_time, action, outcome, actor, scope_id, agent, session, trace_id, recall_id,
       memory_ids, source_types, payload, mac
FROM audit_event
WHERE tenant_id = %(tenant_id)s AND action = 23
      AND (%(before)s::uuid IS NULL OR event_id < %(before)s)
ORDER BY event_id DESC
LIMIT %(limit)s
