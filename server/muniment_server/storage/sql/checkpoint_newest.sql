-- The last signed state of the chain up to a place; one that is said to lie behind it is not ours.
SELECT sequence, create_time
FROM audit_checkpoint
WHERE tenant_id = %(tenant_id)s AND sequence <= %(through)s
ORDER BY sequence DESC
LIMIT 1
