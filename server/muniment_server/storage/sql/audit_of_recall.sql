-- The event of a recall and the use reports for it, oldest first, with their place in the chain.
SELECT e.event_id, e.event_time, e.action, e.outcome, e.actor, e.scope_id, e.agent, e.session, e.trace_id,
       e.recall_id, e.memory_ids, e.source_types, e.payload, e.mac,
       c.sequence, c.digest, p.digest AS prev_digest
FROM audit_event e
LEFT JOIN audit_chain c ON c.tenant_id = %(tenant_id)s AND c.event_id = e.event_id
LEFT JOIN audit_chain p ON p.tenant_id = %(tenant_id)s AND p.sequence = c.sequence - 1
WHERE e.tenant_id = %(tenant_id)s AND e.recall_id = %(recall_id)s
      AND e.action = ANY(%(actions)s::smallint[]) AND e.outcome = %(outcome)s
      AND (%(after)s::uuid IS NULL OR e.event_id > %(after)s::uuid)
ORDER BY e.event_id
LIMIT %(limit)s
