-- Empties the stored answers of calls that wrote to an erased scope. The rows stay for their window, so
-- that a repeated call is refused instead of bringing the erased memory back.
UPDATE idempotency SET payload_digest = ''::bytea, response = ''::bytea
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND response <> ''::bytea
RETURNING 1 AS one
