-- Memories of a scope that still have the text that was used, kept from being removed until the end of the
-- transaction. In the order in which everybody locks memories.
SELECT m.doc_no, m.content_revision
FROM memory m
JOIN unnest(%(memory_ids)s::uuid[], %(revisions)s::integer[]) AS o (memory_id, revision)
    ON o.memory_id = m.memory_id AND m.content_revision <= o.revision
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
ORDER BY m.memory_id
FOR KEY SHARE OF m
