-- Gives events their place in the chain.
INSERT INTO audit_chain (tenant_id, sequence, event_id, digest)
SELECT %(tenant_id)s, c.sequence, c.event_id, c.digest
FROM unnest(%(sequences)s::bigint[], %(event_ids)s::uuid[], %(digests)s::bytea[])
     AS c (sequence, event_id, digest)
