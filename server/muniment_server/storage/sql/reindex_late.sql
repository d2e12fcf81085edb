-- The oldest version of the text analysis below the present one among a tenant's memories.
-- That one stands here as a number, so that the index of what is older serves: retrieval/analysis.py.
SELECT min(m.analyzer) AS oldest
FROM memory m
WHERE m.tenant_id = %(tenant_id)s AND m.analyzer < 2
