-- Finds, ranks and explains what a scope knew at an instant, in one round trip; recall.sql does it for now.
-- Of every memory that is still stored, the revision that was current then is looked at, and no other: its
-- state, its labels, its text. What was written later is not there, and neither is what was erased since.
-- Vectors are kept per text, so that a revision has its own where the model was not changed since its text
-- was. Postings are there for what is ACTIVE now only: words are looked up in the tokens that a revision was
-- stored with, which do not say how often a word occurs, so that every word counts once (tf is 1). Number,
-- lengths and frequencies are those of what was ACTIVE then. Scores as in recall.sql with these two legs:
--   score = (vector weight * relevance(cosine) + lexical weight * BM25 share) * factors
-- Age is counted up to the instant. A restatement is counted in place: one that came later says nothing.
-- Runs with enable_nestloop = off, like recall.sql.
WITH changed AS MATERIALIZED (
    SELECT memory_id FROM memory
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND update_time > %(as_of)s AND revision > 1
), known AS MATERIALIZED (
    SELECT doc_no, memory_id, revision, content_revision, state, kind, origin_session, slot, agent, session, valid_from,
           valid_to, create_time, expire_time, reinforce_time, trust, source_type, confidence, term_count, tags,
           properties, tokens,
           false AS historic
    FROM memory
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND update_time <= %(as_of)s
    UNION ALL
    (SELECT DISTINCT ON (memory_id)
           doc_no, memory_id, revision, content_revision, state, kind, origin_session, slot, agent, session, valid_from,
           valid_to, create_time, expire_time, reinforce_time, trust, source_type, confidence, term_count, tags,
           properties, tokens,
           true AS historic
    FROM memory_revision
    WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(ARRAY(SELECT memory_id FROM changed))
          AND scope_id = %(scope_id)s AND update_time <= %(as_of)s
    ORDER BY memory_id, revision DESC)
), scoped AS MATERIALIZED (
    SELECT m.doc_no, m.memory_id, m.revision, m.historic, m.content_revision, m.state, m.kind, m.valid_from,
           m.create_time, m.reinforce_time, m.trust, m.source_type, m.confidence,
           m.expire_time <= %(as_of)s AS expired,
           (m.agent IS NULL OR m.agent = %(agent)s)
               AND (m.session IS NULL OR m.session = %(session)s)
               AND (%(unrestricted)s OR (
                   (%(kinds)s::smallint[] IS NULL OR m.kind = ANY(%(kinds)s::smallint[]))
                   AND (%(source_types)s::smallint[] IS NULL OR m.source_type = ANY(%(source_types)s::smallint[]))
                   AND m.trust >= %(min_trust)s
                   AND (%(slots)s::text[] IS NULL OR m.slot = ANY(%(slots)s::text[]))
                   AND (%(origin_sessions)s::text[] IS NULL OR m.origin_session = ANY(%(origin_sessions)s::text[]))
                   AND (%(tags_any)s::text[] IS NULL OR m.tags && %(tags_any)s::text[])
                   AND (%(tags_all)s::text[] IS NULL OR m.tags @> %(tags_all)s::text[])
                   AND (%(tags_none)s::text[] IS NULL OR NOT m.tags && %(tags_none)s::text[])
                   AND (%(view_tags)s::text[] IS NULL OR m.tags && %(view_tags)s::text[])
                   AND (%(properties)s::jsonpath IS NULL
                        OR coalesce(jsonb_path_match(m.properties, %(properties)s::jsonpath, '{}', true), false))
                   AND (%(create_start)s::timestamptz IS NULL OR m.create_time >= %(create_start)s)
                   AND (%(create_end)s::timestamptz IS NULL OR m.create_time < %(create_end)s)
                   AND (%(valid_overlap_start)s::timestamptz IS NULL
                        OR m.valid_to IS NULL OR m.valid_to > %(valid_overlap_start)s)
                   AND (%(valid_overlap_end)s::timestamptz IS NULL
                        OR m.valid_from IS NULL OR m.valid_from < %(valid_overlap_end)s)
                   AND (%(valid_start_from)s::timestamptz IS NULL OR m.valid_from >= %(valid_start_from)s)
                   AND (%(valid_start_to)s::timestamptz IS NULL OR m.valid_from < %(valid_start_to)s)
                   AND (%(valid_at)s::timestamptz IS NULL
                        OR ((m.valid_from IS NULL OR m.valid_from <= %(valid_at)s)
                            AND (m.valid_to IS NULL OR m.valid_to > %(valid_at)s)))))
               AS matching
    FROM known m
    WHERE NOT m.memory_id = ANY(%(excluded)s::uuid[])
          AND (%(bound_agent)s::text IS NULL OR m.agent IS NULL OR m.agent = %(bound_agent)s)
), eligible AS MATERIALIZED (
    SELECT * FROM scoped
    WHERE matching AND state = ANY(%(states)s::smallint[]) AND expired IS NOT TRUE
), vector_leg AS MATERIALIZED (
    SELECT e.doc_no, e.content_revision,
           nullif(1 - (e.embedding <=> %(embedding)s::halfvec)::float8, 'NaN'::float8) AS cosine
    FROM memory_embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s
          AND vector_dims(e.embedding) = vector_dims(%(embedding)s::halfvec)
), statistics AS MATERIALIZED (
    SELECT count(*)::float8 AS documents,
           greatest(sum(term_count), 1)::float8 / greatest(count(*), 1)::float8 AS mean_terms
    FROM known WHERE state = 2
), hits AS MATERIALIZED (
    SELECT DISTINCT doc_no, doc_terms, token
    FROM (SELECT doc_no, term_count::float8 AS doc_terms, unnest(tokens) AS token FROM known WHERE state = 2) t
    WHERE token = ANY(%(tokens)s::bigint[])
), frequencies AS MATERIALIZED (
    SELECT q.token,
           ln(1 + (greatest((SELECT documents FROM statistics), coalesce(d.df, 1)) - coalesce(d.df, 1)
                   + 0.5::float8) / (coalesce(d.df, 1) + 0.5::float8)) AS idf
    FROM unnest(%(tokens)s::bigint[]) AS q (token)
    LEFT JOIN (SELECT token, count(*)::float8 AS df FROM hits GROUP BY token) d ON d.token = q.token
), lexical_leg AS MATERIALIZED (
    SELECT h.doc_no,
           sum(f.idf * 2.2::float8
               / nullif(1 + 1.2::float8 * (0.25::float8 + 0.75::float8 * h.doc_terms
                                           / (SELECT mean_terms FROM statistics)), 0)) AS bm25,
           sum(f.idf * 2.2::float8
               / nullif(1 + 1.2::float8 * (0.25::float8 + 0.75::float8 * least(4::float8,
                   h.doc_terms / (SELECT mean_terms FROM statistics))), 0)) AS bounded
    FROM hits h
    JOIN frequencies f ON f.token = h.token
    GROUP BY h.doc_no
), measured AS MATERIALIZED (
    SELECT e.doc_no, e.memory_id, e.revision, e.historic, v.cosine, l.bm25,
           l.bounded / (SELECT nullif(sum(idf) * 2.2::float8, 0) FROM frequencies) AS lexical_share,
           greatest(0::float8, least(1::float8, (v.cosine - %(cosine_low)s::float8)
               / (%(cosine_high)s::float8 - %(cosine_low)s::float8))) AS relevance,
           coalesce((%(kind_factors)s::float8[])[e.kind], 1) AS kind_factor,
           coalesce((%(trust_factors)s::float8[])[e.trust], 1) AS trust_factor,
           coalesce((%(source_factors)s::float8[])[e.source_type], 1) AS source_factor,
           1 - %(confidence_weight)s::float8 * (1 - greatest(0::float8, least(1::float8, coalesce(e.confidence, 1))))
               AS confidence_factor,
           1 - %(recency_weight)s::float8 * (1 - power(2::float8, - least(1000::float8,
               greatest(0::float8, floor(e.seconds / 86400)) / coalesce((%(half_lives)s::float8[])[e.kind], 1))))
               AS recency_factor
    FROM (SELECT *, CASE WHEN isfinite(recorded)
                         THEN extract(epoch FROM %(as_of)s::timestamptz - recorded)::float8 ELSE 0 END AS seconds
          FROM (SELECT *, coalesce(CASE WHEN reinforce_time <= %(as_of)s THEN reinforce_time END,
                                   least(valid_from, create_time)) AS recorded
                FROM eligible) aged) e
    LEFT JOIN vector_leg v ON v.doc_no = e.doc_no AND v.content_revision = e.content_revision
    LEFT JOIN lexical_leg l ON l.doc_no = e.doc_no
), weighed AS MATERIALIZED (
    SELECT m.*,
           CASE WHEN cosine IS NULL THEN sign(%(lexical_weight)s::float8) * coalesce(lexical_share, 0::float8)
                ELSE %(vector_weight)s::float8 * relevance
                     + %(lexical_weight)s::float8 * coalesce(lexical_share, 0::float8) END AS own,
           kind_factor * trust_factor * source_factor * confidence_factor * recency_factor AS factor
    FROM measured m
), vector_order AS (
    SELECT doc_no, row_number() OVER (ORDER BY cosine DESC, memory_id) AS place
    FROM (SELECT doc_no, cosine, memory_id FROM weighed
          WHERE cosine IS NOT NULL AND %(vector_weight)s::float8 > 0
          ORDER BY cosine DESC, memory_id LIMIT %(rank_depth)s) first
), lexical_order AS (
    SELECT doc_no, row_number() OVER (ORDER BY bm25 DESC, memory_id) AS place
    FROM (SELECT doc_no, bm25, memory_id FROM weighed
          WHERE bm25 IS NOT NULL AND %(lexical_weight)s::float8 > 0
          ORDER BY bm25 DESC, memory_id LIMIT %(rank_depth)s) first
), fused AS (
    SELECT w.*, v.place AS vector_rank, l.place AS lexical_rank,
           CASE WHEN %(reciprocal)s::boolean THEN
               (coalesce(61 / (60::float8 + v.place), 0) + coalesce(61 / (60::float8 + l.place), 0))
               / %(leg_count)s::float8
           ELSE least(1::float8, greatest(0::float8, w.factor * w.own)) END AS score
    FROM weighed w
    LEFT JOIN vector_order v ON v.doc_no = w.doc_no
    LEFT JOIN lexical_order l ON l.doc_no = w.doc_no
), relevant AS MATERIALIZED (
    SELECT f.*, count(*) OVER () AS relevant FROM fused f
    WHERE score >= %(min_score)s::float8 AND (score > 0 OR cosine IS NOT NULL)
          AND (%(reciprocal)s::boolean OR own >= %(min_score)s::float8)
), best AS MATERIALIZED (
    SELECT * FROM relevant ORDER BY score DESC, memory_id LIMIT %(fetch)s
), tally AS (
    SELECT count(*) AS total,
           count(*) FILTER (WHERE counted AND NOT state = ANY(%(states)s::smallint[])) AS other_state,
           count(*) FILTER (WHERE counted AND state = ANY(%(states)s::smallint[]) AND expired) AS expired,
           count(*) FILTER (WHERE matching IS NOT TRUE AND (NOT counted OR
                                (state = ANY(%(states)s::smallint[]) AND expired IS NOT TRUE))) AS filtered
    -- Of what lies out of a view nothing is told but that it was filtered out.
    FROM (SELECT *, NOT %(viewed)s OR coalesce(matching, false) AS counted FROM scoped) s
)
SELECT t.total, t.other_state, t.expired, t.filtered,
       (SELECT coalesce(max(relevant), 0) FROM relevant) AS relevant,
       r.score, r.own AS evidence, r.cosine, r.relevance, r.vector_rank, r.bm25, r.lexical_share, r.lexical_rank,
       r.kind_factor, r.trust_factor, r.source_factor, r.confidence_factor, r.recency_factor, r.historic,
       NOT r.historic AND (
           EXISTS (SELECT FROM memory_revision h
                   WHERE h.tenant_id = %(tenant_id)s AND h.memory_id = m.memory_id AND h.revision >= m.revision)
           OR EXISTS (SELECT FROM memory n
                      WHERE n.tenant_id = %(tenant_id)s AND n.supersedes = m.memory_id
                            AND n.state IN (2, 3) AND m.state = 2 AND n.update_time >= m.update_time)
           OR EXISTS (SELECT FROM memory_revision n
                      WHERE n.tenant_id = %(tenant_id)s AND n.supersedes = m.memory_id
                            AND n.state IN (2, 3) AND m.state = 2 AND n.update_time >= m.update_time)
       ) AS contradicted,
       (SELECT s.key_epoch FROM scope s
        WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s) AS scope_epoch,
       (SELECT i.model_no FROM instance i) AS model_in_use,
       (SELECT count(*) FROM memory_embedding w
        WHERE w.tenant_id = %(tenant_id)s AND w.model_no = %(model_no)s AND w.scope_no = %(scope_no)s
              AND w.state = 2) AS waiting,
       (SELECT e.state FROM memory_embedding e
        WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s
              AND e.doc_no = m.doc_no AND e.content_revision = m.content_revision) AS embedding_state,
       m.*
FROM tally t
LEFT JOIN best r ON true
LEFT JOIN (
    SELECT memory_id, scope_id, doc_no, revision, content_revision, key_epoch, state, kind, trust, source_type,
           analyzer, term_count, reinforce_count, confidence, create_time, update_time, expire_time,
           valid_from, valid_to, reinforce_time, supersedes, superseded_by, slot, agent, session,
           origin_session, turn_number, author, author_agent, source_ref, tags, properties, statement_hash, tokens,
           content_ct, seal,
           false AS kept
    FROM memory
    WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(ARRAY(SELECT memory_id FROM best))
    UNION ALL
    SELECT memory_id, scope_id, doc_no, revision, content_revision, key_epoch, state, kind, trust, source_type,
           analyzer, term_count, reinforce_count, confidence, create_time, update_time, expire_time,
           valid_from, valid_to, reinforce_time, supersedes, superseded_by, slot, agent, session,
           origin_session, turn_number, author, author_agent, source_ref, tags, properties, statement_hash, tokens,
           content_ct, seal,
           true AS kept
    FROM memory_revision
    WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(ARRAY(SELECT memory_id FROM best))
) m ON m.memory_id = r.memory_id AND m.revision = r.revision AND m.kept = r.historic
ORDER BY r.score DESC NULLS LAST, r.memory_id
