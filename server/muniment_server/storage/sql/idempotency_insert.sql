-- Remembers the answer of a mutating call.
INSERT INTO idempotency (
    tenant_id, request_id, method, scope_id, key_epoch, memory_ids, payload_digest, response, create_time,
    event_id
) VALUES (
    %(tenant_id)s, %(request_id)s, %(method)s, %(scope_id)s, %(key_epoch)s, %(memory_ids)s::uuid[],
    %(payload_digest)s, %(response)s, %(now)s, %(event_id)s
)
