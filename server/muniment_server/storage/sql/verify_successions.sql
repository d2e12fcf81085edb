-- Corrections that do not fit together: a superseded memory without its successor, a successor that never
-- knew it, or one that is live beside the memory that it replaced. A memory that was put back again replaces
-- what it was replaced by; then its history tells what it had replaced before.
SELECT m.scope_id, m.memory_id
FROM memory m
LEFT JOIN memory s ON s.tenant_id = %(tenant_id)s AND s.memory_id = m.superseded_by
LEFT JOIN tombstone t ON t.tenant_id = %(tenant_id)s AND t.memory_id = m.superseded_by
WHERE m.tenant_id = %(tenant_id)s AND t.memory_id IS NULL
      AND (m.state = 3 OR m.superseded_by IS NOT NULL)
      AND (s.memory_id IS NULL OR s.scope_id <> m.scope_id
           OR (s.supersedes IS DISTINCT FROM m.memory_id
               AND NOT EXISTS (SELECT FROM memory_revision h
                               WHERE h.tenant_id = %(tenant_id)s AND h.memory_id = s.memory_id
                                     AND h.supersedes = m.memory_id)))
UNION
SELECT n.scope_id, n.memory_id
FROM memory n
JOIN memory o ON o.tenant_id = %(tenant_id)s AND o.memory_id = n.supersedes
WHERE n.tenant_id = %(tenant_id)s AND n.state = 2 AND o.state = 2
LIMIT %(limit)s
