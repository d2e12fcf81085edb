-- Makes the head of a tenant's chain at its first event.
INSERT INTO audit_head (tenant_id, sequence, digest)
VALUES (%(tenant_id)s, 0, %(digest)s)
ON CONFLICT DO NOTHING
