-- The end of a tenant's chain (null before its first event), the last signed place up to it, and whether
-- events wait for their place.
SELECT (SELECT h.sequence FROM audit_head h WHERE h.tenant_id = %(tenant_id)s) AS sequence,
       (SELECT h.digest FROM audit_head h WHERE h.tenant_id = %(tenant_id)s) AS digest,
       (SELECT p.sequence FROM audit_checkpoint p
        WHERE p.tenant_id = %(tenant_id)s
              AND p.sequence <= (SELECT h.sequence FROM audit_head h WHERE h.tenant_id = %(tenant_id)s)
        ORDER BY p.sequence DESC LIMIT 1) AS signed_sequence,
       EXISTS (SELECT FROM audit_queue q WHERE q.tenant_id = %(tenant_id)s) AS waiting
