-- What the trail says of a conversation's ingests since the first of them, in order.
SELECT event_id, event_time, action, outcome, actor, scope_id, agent, session, trace_id, recall_id,
       memory_ids, source_types, payload, mac
FROM audit_event
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND event_id >= %(since)s AND action = 10
      AND session = %(session)s AND agent IS NOT DISTINCT FROM %(agent)s
ORDER BY event_id
