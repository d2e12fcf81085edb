-- Takes events that have got their place out of the queue.
DELETE FROM audit_queue
WHERE tenant_id = %(tenant_id)s AND event_id = ANY(%(event_ids)s::uuid[])
