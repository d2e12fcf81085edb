-- Signed states of the chain from after one place up to another.
SELECT sequence, digest, create_time, signing_key, signature
FROM audit_checkpoint
WHERE tenant_id = %(tenant_id)s AND sequence > %(after)s AND sequence <= %(last)s
ORDER BY sequence
LIMIT %(limit)s
