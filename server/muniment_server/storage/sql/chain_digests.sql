-- The digests at the given places of the chain.
SELECT sequence, digest
FROM audit_chain
WHERE tenant_id = %(tenant_id)s AND sequence = ANY(%(sequences)s::bigint[])
