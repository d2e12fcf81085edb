-- Stores the first revision of a memory.
INSERT INTO memory (
    tenant_id, memory_id, scope_id, doc_no, revision, content_revision, key_epoch, state, kind, trust,
    source_type, analyzer, term_count, reinforce_count, confidence, create_time, update_time,
    expire_time, valid_from, valid_to, reinforce_time, supersedes, superseded_by, slot, agent, session,
    origin_session, turn_number, author, author_agent, source_ref, tags, properties, statement_hash, tokens,
    content_ct, seal
) VALUES (
    %(tenant_id)s, %(memory_id)s, %(scope_id)s, %(doc_no)s, %(revision)s, %(content_revision)s,
    %(key_epoch)s, %(state)s, %(kind)s, %(trust)s, %(source_type)s, %(analyzer)s, %(term_count)s,
    %(reinforce_count)s, %(confidence)s, %(create_time)s, %(update_time)s, %(expire_time)s,
    %(valid_from)s, %(valid_to)s, %(reinforce_time)s, %(supersedes)s, %(superseded_by)s, %(slot)s,
    %(agent)s, %(session)s, %(origin_session)s, %(turn_number)s, %(author)s, %(author_agent)s, %(source_ref)s, %(tags)s,
    %(properties)s, %(statement_hash)s, %(tokens)s, %(content_ct)s, %(seal)s
)
