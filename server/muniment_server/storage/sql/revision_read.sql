-- Earlier revisions of one memory, newest first.
SELECT
    memory_id, scope_id, doc_no, revision, content_revision, key_epoch, state, kind, trust, source_type,
    analyzer, term_count, reinforce_count, confidence, create_time, update_time, expire_time,
    valid_from, valid_to, reinforce_time, supersedes, superseded_by, slot, agent, session,
    origin_session, turn_number, author, author_agent, source_ref, tags, properties, statement_hash, tokens,
    content_ct, seal
FROM memory_revision
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s
      AND (%(before)s::bigint IS NULL OR revision < %(before)s)
ORDER BY revision DESC
LIMIT %(limit)s
