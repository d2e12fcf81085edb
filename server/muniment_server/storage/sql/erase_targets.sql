-- Locks the memories that an erasure is aimed at. Where one comes from is asked of its earlier revisions as well:
-- who restates it with more trust changes its provenance, and its text stays what was said first.
SELECT
    memory_id, scope_id, doc_no, revision, content_revision, key_epoch, state, kind, trust, source_type,
    analyzer, term_count, reinforce_count, confidence, create_time, update_time, expire_time,
    valid_from, valid_to, reinforce_time, supersedes, superseded_by, slot, agent, session,
    origin_session, turn_number, author, author_agent, source_ref, tags, properties, statement_hash, tokens,
    content_ct, seal
FROM memory
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
      AND (%(memory_ids)s::uuid[] IS NULL OR memory_id = ANY(%(memory_ids)s::uuid[]))
      AND (%(agent)s::text IS NULL OR agent = %(agent)s)
      AND (%(session)s::text IS NULL OR session = %(session)s)
      AND (%(bound_agent)s::text IS NULL OR agent IS NULL OR agent = %(bound_agent)s)
      -- What is meant in every state is meant in one that nobody knows too.
      AND (state = ANY(%(states)s::smallint[])
           OR (cardinality(%(states)s::smallint[]) = 5 AND NOT state BETWEEN 1 AND 5))
      AND (%(kinds)s::smallint[] IS NULL OR kind = ANY(%(kinds)s::smallint[]))
      AND trust >= %(min_trust)s
      AND (%(slots)s::text[] IS NULL OR slot = ANY(%(slots)s::text[]))
      AND (%(tags_any)s::text[] IS NULL OR tags && %(tags_any)s::text[])
      AND (%(tags_all)s::text[] IS NULL OR tags @> %(tags_all)s::text[])
      AND (%(tags_none)s::text[] IS NULL OR NOT tags && %(tags_none)s::text[])
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
      AND (
          ((%(target_session)s::text IS NULL
            OR origin_session = %(target_session)s OR session = %(target_session)s)
           AND (%(source_types)s::smallint[] IS NULL OR source_type = ANY(%(source_types)s::smallint[]))
           AND (%(origin_sessions)s::text[] IS NULL OR origin_session = ANY(%(origin_sessions)s::text[])))
          OR EXISTS (
              SELECT FROM memory_revision r
              WHERE r.tenant_id = %(tenant_id)s AND r.memory_id = memory.memory_id
                    AND (%(target_session)s::text IS NULL OR r.origin_session = %(target_session)s)
                    AND (%(source_types)s::smallint[] IS NULL
                         OR r.source_type = ANY(%(source_types)s::smallint[]))
                    AND (%(origin_sessions)s::text[] IS NULL
                         OR r.origin_session = ANY(%(origin_sessions)s::text[]))
          )
      )
ORDER BY memory_id
FOR UPDATE
