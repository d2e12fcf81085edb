-- One page of everything that is remembered in a scope, whatever its narrowing and expiry, oldest first.
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
                     AND n.state IN (2, 3) AND m.state = 2 AND n.update_time >= m.update_time)
    OR EXISTS (SELECT FROM memory_revision n
               WHERE n.tenant_id = %(tenant_id)s AND n.supersedes = m.memory_id
                     AND n.state IN (2, 3) AND m.state = 2 AND n.update_time >= m.update_time) AS contradicted
FROM memory m
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
      AND (%(bound_agent)s::text IS NULL OR agent IS NULL OR agent = %(bound_agent)s)
      AND (%(after_id)s::uuid IS NULL OR memory_id > %(after_id)s::uuid)
      AND state = ANY(%(states)s::smallint[])
ORDER BY memory_id
LIMIT %(limit)s
