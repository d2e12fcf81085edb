-- Live memories of the scope near to one new text, nearest first; none in a scope with more than `most`.
WITH near AS MATERIALIZED (
    SELECT e.doc_no, e.content_revision, 1 - (e.embedding <=> %(embedding)s::halfvec)::float8 AS cosine
    FROM memory_embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s
          AND (SELECT s.live_count FROM scope s
               WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s) <= %(most)s
          AND vector_dims(e.embedding) = vector_dims(%(embedding)s::halfvec)
          AND (e.embedding <=> %(embedding)s::halfvec)::float8 <= %(farthest)s::float8
)
SELECT n.cosine,
       m.memory_id, m.scope_id, m.doc_no, m.revision, m.content_revision, m.key_epoch, m.state, m.kind,
       m.trust, m.source_type, m.analyzer, m.term_count, m.reinforce_count, m.confidence, m.create_time,
       m.update_time, m.expire_time, m.valid_from, m.valid_to, m.reinforce_time, m.supersedes,
       m.superseded_by, m.slot, m.agent, m.session, m.origin_session, m.turn_number, m.author,
       m.author_agent, m.source_ref, m.tags, m.properties, m.statement_hash, m.tokens, m.content_ct, m.seal
FROM near n
JOIN memory m ON m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.doc_no = n.doc_no
                 AND m.content_revision = n.content_revision
WHERE m.state = 2 AND (m.expire_time IS NULL OR m.expire_time > %(now)s)
      AND (m.agent IS NULL OR m.agent = %(agent)s) AND (m.session IS NULL OR m.session = %(session)s)
ORDER BY n.cosine DESC, m.memory_id
LIMIT %(limit)s
