-- Empties the stored answers that name erased memories, or all answers of an erased scope. The rows stay for
-- their window, so that a repeated call is refused instead of bringing the erased memory back.
UPDATE idempotency SET payload_digest = ''::bytea, response = ''::bytea
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND response <> ''::bytea
      AND (%(memory_ids)s::uuid[] IS NULL OR memory_ids && %(memory_ids)s::uuid[])
RETURNING 1 AS one
