-- What counts of each row of a scope: its seal, and of the current ones state and number of terms.
SELECT m.seal, m.state, m.term_count, false AS history
FROM memory m
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
UNION ALL
SELECT h.seal, h.state, h.term_count, true
FROM memory_revision h
WHERE h.tenant_id = %(tenant_id)s AND h.scope_id = %(scope_id)s
