-- What a request id was used for, and the audit event of it.
SELECT i.method, i.scope_id AS write_scope, i.create_time,
       e.event_id, e.event_time, e.action, e.outcome, e.actor, e.scope_id, e.agent, e.session, e.trace_id,
       e.recall_id, e.memory_ids, e.source_types, e.payload, e.mac
FROM idempotency i
JOIN audit_event e ON e.tenant_id = %(tenant_id)s AND e.event_id = i.event_id
WHERE i.tenant_id = %(tenant_id)s AND i.request_id = %(request_id)s
