-- Finds, ranks and explains the memories of one scope in one round trip.
-- Every eligible memory is scored by both legs exactly; filters act before ranking, so that what is
-- superseded, expired, foreign or filtered out never takes a place.
-- score = vector_weight * relevance(cosine) + lexical_weight * bm25 share; a memory without a vector
-- is judged by its lexical share alone.
-- A term that no memory has counts in the reachable best like one that a single memory has, and in no
-- memory's score; the share bounds how much a long text loses by its length (retrieval/bm25.py).
-- Runs with enable_nestloop = off: a plan must not depend on statistics that a fresh scope does not have
-- yet, and all joins here are of sets of the scope's size.
WITH scoped AS MATERIALIZED (
    SELECT m.doc_no, m.memory_id, m.content_revision, m.state,
           m.expire_time <= %(now)s AS expired,
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
    FROM memory m
    WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
          AND NOT m.memory_id = ANY(%(excluded)s::uuid[])
), eligible AS (
    SELECT doc_no, memory_id, content_revision FROM scoped
    WHERE matching AND state = ANY(%(states)s::smallint[]) AND expired IS NOT TRUE
), vector_leg AS MATERIALIZED (
    -- A vector of another length or of length 0 was put there by somebody else: it is no vector.
    SELECT e.doc_no, e.content_revision,
           nullif(1 - (e.embedding <=> %(embedding)s::halfvec)::float8, 'NaN'::float8) AS cosine
    FROM memory_embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s
          AND vector_dims(e.embedding) = vector_dims(%(embedding)s::halfvec)
), postings AS MATERIALIZED (
    SELECT p.token, p.doc_no, p.tf::float8 AS tf, p.doc_terms::float8 AS doc_terms
    FROM posting p
    WHERE p.tenant_id = %(tenant_id)s AND p.scope_no = %(scope_no)s AND p.token = ANY(%(tokens)s::bigint[])
), statistics AS (
    -- Honest numbers need no greatest, here and below; others must not make the statement fail.
    SELECT s.key_epoch, s.live_count::float8 AS documents,
           greatest(s.live_terms, 1)::float8 / greatest(s.live_count, 1)::float8 AS mean_terms
    FROM scope s
    WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s
), frequencies AS (
    SELECT q.token,
           ln(1 + (greatest((SELECT documents FROM statistics), coalesce(d.df, 1)) - coalesce(d.df, 1)
                   + 0.5::float8) / (coalesce(d.df, 1) + 0.5::float8)) AS idf
    FROM unnest(%(tokens)s::bigint[]) AS q (token)
    LEFT JOIN (SELECT token, count(*)::float8 AS df FROM postings GROUP BY token) d ON d.token = q.token
), lexical_leg AS MATERIALIZED (
    SELECT p.doc_no,
           sum(f.idf * p.tf * 2.2::float8
               / nullif(p.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * p.doc_terms
                                              / (SELECT mean_terms FROM statistics)), 0)) AS bm25,
           sum(f.idf * p.tf * 2.2::float8
               / nullif(p.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * least(4::float8,
                   p.doc_terms / (SELECT mean_terms FROM statistics))), 0)) AS bounded
    FROM postings p
    JOIN frequencies f ON f.token = p.token
    GROUP BY p.doc_no
), reach AS (
    SELECT nullif(sum(idf) * 2.2::float8, 0) AS best FROM frequencies
), scored AS MATERIALIZED (
    SELECT c.doc_no, c.memory_id, v.cosine, l.bm25, l.bounded / (SELECT best FROM reach) AS lexical_share,
           greatest(0::float8, least(1::float8,
               (v.cosine - %(cosine_low)s::float8) / (%(cosine_high)s::float8 - %(cosine_low)s::float8)))
               AS relevance
    FROM eligible c
    LEFT JOIN vector_leg v ON v.doc_no = c.doc_no AND v.content_revision = c.content_revision
    LEFT JOIN lexical_leg l ON l.doc_no = c.doc_no
), fused AS (
    SELECT doc_no, memory_id, cosine, bm25, lexical_share, relevance,
           CASE WHEN cosine IS NULL THEN coalesce(lexical_share, 0::float8)
                ELSE %(vector_weight)s::float8 * relevance
                     + %(lexical_weight)s::float8 * coalesce(lexical_share, 0::float8)
           END AS score
    FROM scored
), best AS MATERIALIZED (
    SELECT *, count(*) OVER () AS relevant FROM fused
    WHERE score >= %(min_score)s::float8 AND (score > 0 OR cosine IS NOT NULL)
    ORDER BY score DESC, memory_id
    LIMIT %(fetch)s
), vector_order AS (
    SELECT doc_no, row_number() OVER (ORDER BY cosine DESC, memory_id) AS place
    FROM (SELECT doc_no, cosine, memory_id FROM scored WHERE cosine IS NOT NULL
          ORDER BY cosine DESC, memory_id LIMIT %(rank_depth)s) first
), lexical_order AS (
    SELECT doc_no, row_number() OVER (ORDER BY bm25 DESC, memory_id) AS place
    FROM (SELECT doc_no, bm25, memory_id FROM scored WHERE bm25 IS NOT NULL
          ORDER BY bm25 DESC, memory_id LIMIT %(rank_depth)s) first
), ranked AS (
    SELECT b.*, v.place AS vector_rank, l.place AS lexical_rank
    FROM best b
    LEFT JOIN vector_order v ON v.doc_no = b.doc_no
    LEFT JOIN lexical_order l ON l.doc_no = b.doc_no
), tally AS (
    SELECT count(*) AS total,
           count(*) FILTER (WHERE NOT state = ANY(%(states)s::smallint[])) AS other_state,
           count(*) FILTER (WHERE state = ANY(%(states)s::smallint[]) AND expired) AS expired,
           count(*) FILTER (WHERE state = ANY(%(states)s::smallint[]) AND expired IS NOT TRUE
                                AND matching IS NOT TRUE) AS filtered
    FROM scoped
)
SELECT t.total, t.other_state, t.expired, t.filtered,
       coalesce(r.relevant, 0) AS relevant,
       r.score, r.cosine, r.relevance, r.vector_rank, r.bm25, r.lexical_share, r.lexical_rank,
       EXISTS (SELECT FROM memory_revision h
               WHERE h.tenant_id = %(tenant_id)s AND h.memory_id = m.memory_id AND h.revision >= m.revision)
       OR EXISTS (SELECT FROM memory n
                  WHERE n.tenant_id = %(tenant_id)s AND n.supersedes = m.memory_id
                        AND n.state IN (2, 3) AND m.state = 2 AND n.update_time >= m.update_time)
       OR EXISTS (SELECT FROM memory_revision n
                  WHERE n.tenant_id = %(tenant_id)s AND n.supersedes = m.memory_id
                        AND n.state IN (2, 3) AND m.state = 2 AND n.update_time >= m.update_time) AS contradicted,
       (SELECT key_epoch FROM statistics) AS scope_epoch,
       (SELECT i.model_no FROM instance i) AS model_in_use,
       (SELECT count(*) FROM memory_embedding w
        WHERE w.tenant_id = %(tenant_id)s AND w.model_no = %(model_no)s AND w.scope_no = %(scope_no)s
              AND w.state = 2) AS waiting,
       m.*
FROM tally t
LEFT JOIN ranked r ON true
LEFT JOIN (
    SELECT * FROM memory
    WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(ARRAY(SELECT memory_id FROM best))
) m ON m.memory_id = r.memory_id
ORDER BY r.score DESC NULLS LAST, r.memory_id
