-- Which scopes do not stand where they were seen before: gone, at an earlier generation, or at the same
-- generation in another state.
SELECT a.scope_id, a.generation AS anchored, s.generation
FROM unnest(%(scope_ids)s::uuid[], %(generations)s::bigint[], %(digests)s::bytea[])
     AS a (scope_id, generation, digest)
LEFT JOIN scope s ON s.tenant_id = %(tenant_id)s AND s.scope_id = a.scope_id
WHERE s.scope_id IS NULL OR s.generation < a.generation
      OR (s.generation = a.generation AND s.seal <> a.digest)
ORDER BY a.scope_id
