-- The stored answer of an earlier call with this request id.
SELECT method, payload_digest, response, create_time
FROM idempotency
WHERE tenant_id = %(tenant_id)s AND request_id = %(request_id)s
