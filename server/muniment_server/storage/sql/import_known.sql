-- Which statements a scope holds already, live or archived, and with which labels.
SELECT statement_hash, kind, slot, agent, session
FROM memory
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND state IN (2, 4)
      AND statement_hash = ANY(%(statement_hashes)s::bytea[])
