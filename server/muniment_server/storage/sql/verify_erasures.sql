-- The erasures of a tenant with their receipts.
SELECT erasure_id, state, scope_id, receipt, signature
FROM erasure
WHERE tenant_id = %(tenant_id)s AND (%(after)s::uuid IS NULL OR erasure_id > %(after)s::uuid)
ORDER BY erasure_id
LIMIT %(limit)s
