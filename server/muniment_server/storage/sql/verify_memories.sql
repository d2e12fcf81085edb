-- The memories of a scope in the order of their document numbers.
SELECT
    memory_id, scope_id, doc_no, revision, content_revision, key_epoch, state, kind, trust, source_type,
    analyzer, term_count, reinforce_count, confidence, create_time, update_time, expire_time,
    valid_from, valid_to, reinforce_time, supersedes, superseded_by, slot, agent, session,
    origin_session, turn_number, author, author_agent, source_ref, tags, properties, statement_hash, tokens,
    content_ct, seal
FROM memory
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND doc_no > %(after)s
ORDER BY doc_no
LIMIT %(limit)s
