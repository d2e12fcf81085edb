-- The erasures of a tenant with their receipts.
SELECT erasure_id, state, target, scope_id, key_epoch, receipt, signature, create_time, complete_time
FROM erasure
WHERE tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR erasure_id > %(after)s::uuid)
ORDER BY erasure_id
LIMIT %(limit)s
