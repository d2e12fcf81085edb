-- Moves the end of a tenant's chain, whose row is locked.
UPDATE audit_head SET sequence = %(sequence)s, digest = %(digest)s
WHERE tenant_id = %(tenant_id)s
