-- Remembers the answer of a mutating call.
INSERT INTO idempotency (tenant_id, request_id, method, payload_digest, response, create_time)
VALUES (%(tenant_id)s, %(request_id)s, %(method)s, %(payload_digest)s, %(response)s, %(now)s)
