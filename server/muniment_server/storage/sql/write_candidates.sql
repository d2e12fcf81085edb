-- Live memories of the scope that an item of a write may restate or replace, and those that wait for a reviewer with
-- the same statement; and whether history or a successor says that one is not the newest.
SELECT
    memory_id, scope_id, doc_no, revision, content_revision, key_epoch, state, kind, trust, source_type,
    analyzer, term_count, reinforce_count, confidence, create_time, update_time, expire_time,
    valid_from, valid_to, reinforce_time, supersedes, superseded_by, slot, agent, session,
    origin_session, turn_number, author, author_agent, source_ref, tags, properties, statement_hash, tokens,
    content_ct, seal,
    EXISTS (SELECT FROM memory_revision h
            WHERE h.tenant_id = %(tenant_id)s AND h.memory_id = m.memory_id AND h.revision >= m.revision)
    OR EXISTS (SELECT FROM memory n
               WHERE n.tenant_id = %(tenant_id)s AND n.supersedes = m.memory_id
                     AND n.state IN (2, 3) AND n.update_time >= m.update_time)
    OR EXISTS (SELECT FROM memory_revision n
               WHERE n.tenant_id = %(tenant_id)s AND n.supersedes = m.memory_id
                     AND n.state IN (2, 3) AND n.update_time >= m.update_time) AS contradicted
FROM memory m
WHERE m.tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
      AND ((state IN (1, 2, 5) AND statement_hash = ANY(%(statement_hashes)s::bytea[]))
           OR (state = 2 AND slot = ANY(%(slots)s::text[])))
ORDER BY memory_id
FOR UPDATE OF m
