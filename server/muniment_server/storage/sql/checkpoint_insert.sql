-- Stores a signed state of the chain.
INSERT INTO audit_checkpoint (tenant_id, sequence, digest, create_time, signing_key, signature)
VALUES (%(tenant_id)s, %(sequence)s, %(digest)s, %(create_time)s, %(signing_key)s, %(signature)s)
ON CONFLICT DO NOTHING
