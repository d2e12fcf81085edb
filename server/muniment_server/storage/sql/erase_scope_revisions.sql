-- Removes the history of all memories of a scope.
DELETE FROM memory_revision
WHERE tenant_id = %(tenant_id)s
      AND memory_id = ANY(ARRAY(SELECT m.memory_id FROM memory m
                                WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s))
RETURNING 1 AS one
