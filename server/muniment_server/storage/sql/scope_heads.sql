-- How far the given scopes have come; all of the tenant's when none is given.
SELECT scope_id, generation, seal
FROM scope
WHERE tenant_id = %(tenant_id)s
      AND (%(scope_ids)s::uuid[] IS NULL OR scope_id = ANY(%(scope_ids)s::uuid[]))
      AND (%(after)s::uuid IS NULL OR scope_id > %(after)s::uuid)
ORDER BY scope_id
LIMIT %(limit)s
