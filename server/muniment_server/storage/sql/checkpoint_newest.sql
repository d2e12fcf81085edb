-- The last signed state of the chain.
SELECT sequence, create_time
FROM audit_checkpoint
WHERE tenant_id = %(tenant_id)s
ORDER BY sequence DESC
LIMIT 1
