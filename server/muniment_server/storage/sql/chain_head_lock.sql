-- Locks the end of a tenant's chain: whoever holds it is the one that chains.
SELECT sequence, digest
FROM audit_head
WHERE tenant_id = %(tenant_id)s
FOR UPDATE
