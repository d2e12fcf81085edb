-- One page of memories, newest first, after the given place.
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
WHERE m.tenant_id = %(tenant_id)s
      AND scope_id = %(scope_id)s
      AND (%(include_narrowed)s
           OR ((agent IS NULL OR agent = %(agent)s) AND (session IS NULL OR session = %(session)s)))
      AND (%(bound_agent)s::text IS NULL OR agent IS NULL OR agent = %(bound_agent)s)
      AND (state <> 2 OR expire_time IS NULL OR expire_time > %(now)s)
      AND (%(after_id)s::uuid IS NULL OR memory_id < %(after_id)s::uuid)
      AND state = ANY(%(states)s::smallint[])
      AND (%(kinds)s::smallint[] IS NULL OR kind = ANY(%(kinds)s::smallint[]))
      AND (%(source_types)s::smallint[] IS NULL OR source_type = ANY(%(source_types)s::smallint[]))
      AND trust >= %(min_trust)s
      AND (%(slots)s::text[] IS NULL OR slot = ANY(%(slots)s::text[]))
      AND (%(origin_sessions)s::text[] IS NULL OR origin_session = ANY(%(origin_sessions)s::text[]))
      AND (%(tags_any)s::text[] IS NULL OR tags && %(tags_any)s::text[])
      AND (%(tags_all)s::text[] IS NULL OR tags @> %(tags_all)s::text[])
      AND (%(tags_none)s::text[] IS NULL OR NOT tags && %(tags_none)s::text[])
      AND (%(view_tags)s::text[] IS NULL OR tags && %(view_tags)s::text[])
      AND (%(properties)s::jsonpath IS NULL
           OR coalesce(jsonb_path_match(properties, %(properties)s::jsonpath, '{}', true), false))
      AND (%(create_start)s::timestamptz IS NULL OR create_time >= %(create_start)s)
      AND (%(create_end)s::timestamptz IS NULL OR create_time < %(create_end)s)
      AND (%(valid_overlap_start)s::timestamptz IS NULL
           OR valid_to IS NULL OR valid_to > %(valid_overlap_start)s)
      AND (%(valid_overlap_end)s::timestamptz IS NULL
           OR valid_from IS NULL OR valid_from < %(valid_overlap_end)s)
      AND (%(valid_start_from)s::timestamptz IS NULL OR valid_from >= %(valid_start_from)s)
      AND (%(valid_start_to)s::timestamptz IS NULL OR valid_from < %(valid_start_to)s)
      AND (%(valid_at)s::timestamptz IS NULL
           OR ((valid_from IS NULL OR valid_from <= %(valid_at)s)
               AND (valid_to IS NULL OR valid_to > %(valid_at)s)))
ORDER BY memory_id DESC
LIMIT %(limit)s
