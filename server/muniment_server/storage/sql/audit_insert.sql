-- Writes an audit event and queues it for the chain.
WITH queued AS (
    INSERT INTO audit_queue (tenant_id, event_id) VALUES (%(tenant_id)s, %(event_id)s)
)
INSERT INTO audit_event (
    tenant_id, event_id, event_time, action, outcome, actor, scope_id, agent, session, trace_id, recall_id,
    memory_ids, source_types, payload, mac
) VALUES (
    %(tenant_id)s, %(event_id)s, %(event_time)s, %(action)s, %(outcome)s, %(actor)s, %(scope_id)s,
    %(agent)s, %(session)s, %(trace_id)s, %(recall_id)s, %(memory_ids)s, %(source_types)s, %(payload)s,
    %(mac)s
)
