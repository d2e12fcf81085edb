-- One page of memories that wait for a person, in the order in which they came there, with the noted rule, and
-- whether history says that one is not the newest.
SELECT
    m.memory_id, m.scope_id, m.doc_no, m.revision, m.content_revision, m.key_epoch, m.state, m.kind, m.trust,
    m.source_type, m.analyzer, m.term_count, m.reinforce_count, m.confidence, m.create_time, m.update_time,
    m.expire_time, m.valid_from, m.valid_to, m.reinforce_time, m.supersedes, m.superseded_by, m.slot, m.agent,
    m.session, m.origin_session, m.turn_number, m.author, m.author_agent, m.source_ref, m.tags, m.properties,
    m.statement_hash, m.tokens, m.content_ct, m.seal,
    r.rule, r.seal AS note_seal,
    EXISTS (SELECT FROM memory_revision h
            WHERE h.tenant_id = %(tenant_id)s AND h.memory_id = m.memory_id AND h.revision >= m.revision)
        AS contradicted
FROM memory m
LEFT JOIN review r ON r.tenant_id = %(tenant_id)s AND r.memory_id = m.memory_id
WHERE m.tenant_id = %(tenant_id)s AND m.state IN (1, 5) AND m.state = ANY(%(states)s::smallint[])
      AND (%(scope_id)s::uuid IS NULL OR m.scope_id = %(scope_id)s)
      AND (%(bound_agent)s::text IS NULL OR m.agent IS NULL OR m.agent = %(bound_agent)s)
      AND (%(agent)s::text IS NULL OR m.agent = %(agent)s)
      AND (%(session)s::text IS NULL OR m.session = %(session)s)
      AND (%(after_time)s::timestamptz IS NULL
           OR (m.update_time, m.memory_id) > (%(after_time)s, %(after_id)s::uuid))
ORDER BY m.update_time, m.memory_id
LIMIT %(limit)s
