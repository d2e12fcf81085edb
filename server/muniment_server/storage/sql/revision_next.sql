-- What followed the given revisions of memories, each the next of its memory: current, or history by now.
SELECT memory_id, scope_id, doc_no, revision, content_revision, key_epoch, state, kind, trust, source_type,
       analyzer, term_count, reinforce_count, confidence, create_time, update_time, expire_time,
       valid_from, valid_to, reinforce_time, supersedes, superseded_by, slot, agent, session,
       origin_session, turn_number, author, author_agent, source_ref, tags, properties, statement_hash, tokens,
       content_ct, seal
FROM (
    SELECT * FROM memory WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
    UNION ALL
    SELECT * FROM memory_revision WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
) m
JOIN unnest(%(memory_ids)s::uuid[], %(revisions)s::integer[]) AS of_interest (followed, revision_before)
    ON m.memory_id = followed AND m.revision = revision_before + 1
