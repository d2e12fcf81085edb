-- The stored answer of an earlier call with this request id.
SELECT method, scope_id, key_epoch, payload_digest, response
FROM idempotency
WHERE tenant_id = %(tenant_id)s AND request_id = %(request_id)s
