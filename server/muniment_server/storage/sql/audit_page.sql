-- One page of audit events, newest first, with their place in the chain. A memory's events are found
-- through the index that the sealer fills, and in the queue of those that it has not chained yet. An agent's
-- credential gets what was done for it, and of what was done for no agent that which names no memory of another.
SELECT e.event_id, e.event_time, e.action, e.outcome, e.actor, e.scope_id, e.agent, e.session, e.trace_id,
       e.recall_id, e.memory_ids, e.source_types, e.payload, e.mac,
       c.sequence, c.digest, p.digest AS prev_digest
FROM audit_event e
LEFT JOIN audit_chain c ON c.tenant_id = %(tenant_id)s AND c.event_id = e.event_id
LEFT JOIN audit_chain p ON p.tenant_id = %(tenant_id)s AND p.sequence = c.sequence - 1
WHERE e.tenant_id = %(tenant_id)s
      AND (%(before)s::uuid IS NULL OR e.event_id < %(before)s::uuid)
      AND (%(not_before)s::uuid IS NULL OR e.event_id >= %(not_before)s::uuid)
      AND (%(memory_id)s::uuid IS NULL OR e.event_id = ANY(ARRAY(
              SELECT a.event_id FROM audit_memory a
              WHERE a.tenant_id = %(tenant_id)s AND a.memory_id = %(memory_id)s::uuid
              UNION
              SELECT q.event_id FROM audit_queue q
              JOIN audit_event w ON w.tenant_id = %(tenant_id)s AND w.event_id = q.event_id
              WHERE q.tenant_id = %(tenant_id)s AND %(memory_id)s::uuid = ANY(w.memory_ids))))
      AND (%(scope_id)s::uuid IS NULL OR e.scope_id = %(scope_id)s::uuid)
      AND (%(agent)s::text IS NULL OR e.agent = %(agent)s)
      AND (%(bound_agent)s::text IS NULL OR e.agent = %(bound_agent)s OR e.agent IS NULL AND NOT EXISTS (
              SELECT 1
              FROM unnest(e.memory_ids) AS n (memory_id)
              LEFT JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.memory_id = n.memory_id
              WHERE m.memory_id IS NULL OR m.agent <> %(bound_agent)s))
      AND (%(session)s::text IS NULL OR e.session = %(session)s)
      AND (%(recall_id)s::uuid IS NULL OR e.recall_id = %(recall_id)s::uuid)
      AND (%(trace_id)s::text IS NULL OR e.trace_id = %(trace_id)s)
      AND (%(actor)s::text IS NULL OR e.actor = %(actor)s)
      AND (%(actions)s::smallint[] IS NULL OR e.action = ANY(%(actions)s::smallint[]))
      AND (%(outcomes)s::smallint[] IS NULL OR e.outcome = ANY(%(outcomes)s::smallint[]))
      AND (%(source_types)s::smallint[] IS NULL OR e.source_types && %(source_types)s::smallint[])
      AND (%(start)s::timestamptz IS NULL OR e.event_time >= %(start)s)
      AND (%(end)s::timestamptz IS NULL OR e.event_time < %(end)s)
ORDER BY e.event_id DESC
LIMIT %(limit)s
