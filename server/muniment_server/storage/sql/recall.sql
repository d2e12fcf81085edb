-- Finds, ranks and explains the memories of one scope in one round trip.
-- Every eligible memory is scored by every leg exactly; filters act before ranking, so that what is
-- superseded, expired, foreign or filtered out never takes a place, and is nobody's neighbour either.
-- docs/recall.md has the formulas. In short, own and around being measures in [0, 1]:
--   own    = vector weight * relevance(cosine) + lexical weight * BM25 share
--   around = the same over a TURN, the two turns before it and the two behind it
--   score  = own weight * own + around weight * around + session, entity, time, slot, form
-- The session fits by its words and its nearest turn; a reply counts by how the question before it matches.
-- Own alone counts where a memory is no TURN. A memory without a vector is judged by its share alone.
-- A term that no memory has counts in the reachable best like one that a single memory has, and in no
-- memory's score; the share bounds how much a long text loses by its length (retrieval/bm25.py).
-- A word that names a speaker of this scope tells who speaks, and is no word of a TURN.
-- A part that a query does not need has a condition of no row: it is decided once, and costs little.
-- OFFSET 0 keeps apart what would otherwise be worked out again at each place that names it.
-- Runs with enable_nestloop and enable_sort off: a plan must not depend on statistics that a fresh scope does
-- not have yet, joins here are of sets of the scope's size, and all groups are found by hashing. What is to be
-- looked up one by one, whatever the planner believes, is LATERAL with an OFFSET 0.
-- What is materialised is paid by the row and the column, so that rows are joined and weighed in one stream.
--
-- This file is four statements (storage/queries.py): a line with marks at its end belongs to those that have
-- all of them. What is not needed costs as well, since each part of a statement is made ready each time. All
-- give the same; which one is asked is a matter of storage/recall.py (docs/adr/0036-forms-of-the-statement.md).
--@ recall_facts: exact facts summed
--@ recall_turns: exact turns summed
--@ recall: exact turns fused
--@ recall_large: drawn turns fused
-- facts: no TURN is there; where one is, `turns` tells, and the answer is to be had from another.
-- fused: reciprocal ranks can take the place of the sum, and have to be there before the score is; and what
-- stands behind a source that has too many of the best is found.
-- drawn: for scopes with more rows than are scored one by one (docs/recall.md): it draws the rows that may come
-- first from indexes alone, by the signs of the vectors (whose order is that of the cosines but for noise), by
-- words, slots and pins, with the sessions around the best turns; what is drawn is filtered and scored as ever.
-- Where the filters leave too little of what was drawn, `enough` is false, and the answer is to be had from recall.
-- RECURSIVE: a part may name one that stands below it.
WITH RECURSIVE
scoped AS NOT MATERIALIZED (
    -- left_by says what leaves a memory out: 0 nothing, 1 its state, 2 its expiry, 3 the filter. Of what lies out
    -- of a view nothing is told but that it was filtered out.
    SELECT m.doc_no, m.memory_id, m.content_revision, m.kind, m.trust, m.source_type, m.confidence,
           m.valid_from, m.valid_to, m.create_time, m.reinforce_time,
           m.origin_session, m.turn_number, m.term_count,  --@turns
           %(pinned_most)s::integer > 0 AND (m.kind = 1 OR m.kind = 5) AND 'pinned' = ANY(m.tags) AS pinned,
           CASE WHEN (
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
               ) IS NOT TRUE
               THEN CASE WHEN %(viewed)s THEN 3
                         WHEN m.state = ANY(%(states)s::smallint[]) IS NOT TRUE THEN 1
                         WHEN m.expire_time <= %(now)s THEN 2 ELSE 3 END
               WHEN m.state = ANY(%(states)s::smallint[]) IS NOT TRUE THEN 1
               WHEN m.expire_time <= %(now)s THEN 2 ELSE 0 END AS left_by
    FROM memory m  --@exact
    -- One by one, and in an order that only the index by document has: sorting is off, so that whatever the planner
    -- believes of the scope's size, it takes no other index and looks through all of it for each.
    FROM drawn d  --@drawn
    CROSS JOIN LATERAL (SELECT * FROM memory  --@drawn
                        WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s  --@drawn
                              AND doc_no >= d.doc_no ORDER BY doc_no LIMIT 1) m  --@drawn
    WHERE m.doc_no = d.doc_no AND  --@drawn
    WHERE  --@exact
          m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
          AND NOT m.memory_id = ANY(%(excluded)s::uuid[])
          AND (%(bound_agent)s::text IS NULL OR m.agent IS NULL OR m.agent = %(bound_agent)s)
    OFFSET 0
), vector_leg AS NOT MATERIALIZED (
    -- A vector of another length or of length 0 was put there by somebody else: it is no vector.
    SELECT e.doc_no, e.content_revision,
           nullif(1 - (e.embedding <=> %(embedding)s::halfvec)::float8, 'NaN'::float8) AS cosine
    FROM memory_embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s
          AND vector_dims(e.embedding) = (SELECT vector_dims(%(embedding)s::halfvec))
          AND e.doc_no = ANY(ARRAY(SELECT doc_no FROM drawn))  --@drawn
), marks AS MATERIALIZED (
    SELECT p.token, p.doc_no, p.tf
    FROM posting p
    WHERE p.tenant_id = %(tenant_id)s AND p.scope_no = %(scope_no)s AND p.token = ANY(%(marks)s::bigint[])
), statistics AS MATERIALIZED (
    -- Honest numbers need no greatest, here and below; others must not make the statement fail.
    SELECT s.key_epoch, s.live_count::float8 AS documents,
           0.9::float8 / (greatest(s.live_terms, 1)::float8 / greatest(s.live_count, 1)::float8) AS per_term
    FROM scope s
    WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s
), named AS (  --@turns
    SELECT q.token, q.no, s.token IS NOT NULL AS speaks  --@turns
    FROM unnest(%(tokens)s::bigint[], %(speakers)s::bigint[]) WITH ORDINALITY AS q (token, speaker, no)  --@turns
    LEFT JOIN (SELECT DISTINCT token FROM marks) s ON s.token = q.speaker  --@turns
), frequencies AS MATERIALIZED (
    SELECT q.token, q.no, d.df,
           -- A query that is nothing but a speaker's name asks for what is said of that name as well.  --@turns
           q.speaks AND NOT bool_and(q.speaks) OVER () AS speaks,  --@turns
           2.2::float8 * ln(1 + (greatest((SELECT documents FROM statistics), d.df) - d.df
                   + 0.5::float8) / (d.df + 0.5::float8)) AS most
    FROM named q  --@turns
    FROM unnest(%(tokens)s::bigint[]) WITH ORDINALITY AS q (token, no)  --@facts
    CROSS JOIN LATERAL (SELECT greatest(count(*), 1)::float8 AS df FROM posting
                        WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND token = q.token) d
), reach AS MATERIALIZED (
    SELECT nullif(sum(most), 0) AS best
           , nullif(sum(most) FILTER (WHERE NOT speaks), 0) AS best_said  --@turns
    FROM frequencies
), hits AS NOT MATERIALIZED (
    -- Read from the index as often as it is named: that costs less than to keep it.
    SELECT f.no, f.most, p.doc_no, p.tf, p.doc_terms
           , f.speaks  --@turns
    FROM frequencies f
    CROSS JOIN LATERAL (
        SELECT doc_no, tf::float8 AS tf, doc_terms FROM posting
        WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND token = f.token
              AND doc_no = ANY(ARRAY(SELECT doc_no FROM drawn))  --@drawn
        OFFSET 0
    ) p
), lexical_leg AS NOT MATERIALIZED (
    -- A text so long that the share bounds what it loses has sums of its own.
    SELECT doc_no,
           sum(most * tf / nullif(tf + long, 0)) FILTER (WHERE NOT speaks) AS bm25_said,  --@turns
           sum(most * tf / nullif(tf + 3.0::float8, 0)) FILTER (WHERE NOT speaks AND long > 3.0::float8)  --@turns
               AS bounded_said,  --@turns
           sum(most * tf / nullif(tf + long, 0)) AS bm25,
           sum(most * tf / nullif(tf + 3.0::float8, 0)) FILTER (WHERE long > 3.0::float8) AS bounded
    FROM (SELECT doc_no, most, tf, 0.3::float8 + doc_terms * (SELECT per_term FROM statistics) AS long
                 , speaks  --@turns
          FROM hits OFFSET 0) contributions
    GROUP BY doc_no
), marked AS MATERIALIZED (
    SELECT doc_no,
           count(*) FILTER (WHERE token = ANY(%(wanted)s::bigint[]))::float8  --@turns
               / greatest(cardinality(%(wanted)s::bigint[]), 1) AS answers,  --@turns
           bool_or(token = %(asks)s) AS asks,  --@turns
           bool_or(token = ANY(%(speakers)s::bigint[]) OR token = ANY(%(roles)s::bigint[])) AS spoken,
           count(*) FILTER (WHERE token = ANY(%(names)s::bigint[]))::float8 AS mentions,
           -- The frequency of a slot's word is the number of words of the slot.
           sum(1 / greatest(tf, 1)::float8) FILTER (WHERE token = ANY(%(slot_words)s::bigint[])) AS slot_named,
           bool_or(token = ANY(%(apart)s::bigint[])) AS apart
    FROM marks
    GROUP BY doc_no
), wanted AS MATERIALIZED (  --@drawn
    SELECT binary_quantize(%(embedding)s::halfvec)::bit varying AS signs  --@drawn
), near AS MATERIALIZED (  --@drawn
    SELECT e.doc_no, CASE WHEN bit_length(e.signs) = bit_length((SELECT signs FROM wanted))  --@drawn
                          THEN e.signs <~> (SELECT signs FROM wanted) END AS distance  --@drawn
    FROM memory_embedding e  --@drawn
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s  --@drawn
          AND %(embedding)s::halfvec IS NOT NULL  --@drawn
    ORDER BY distance, e.doc_no LIMIT %(draw_near)s  --@drawn
), telling AS MATERIALIZED (  --@drawn
    -- The rarest words, until they stand in enough memories: what has none of them is not among the best.  --@drawn
    SELECT token, most  --@drawn
    FROM (SELECT token, most, coalesce(sum(df) OVER (ORDER BY df, token ROWS BETWEEN UNBOUNDED PRECEDING  --@drawn
                                                     AND 1 PRECEDING), 0) AS rarer FROM frequencies) f  --@drawn
    WHERE rarer < 20000  --@drawn
), words AS MATERIALIZED (  --@drawn
    SELECT p.doc_no, sum(t.most * p.tf / nullif(p.tf + least(3.0::float8, 0.3::float8 + p.doc_terms  --@drawn
                             * (SELECT per_term FROM statistics)), 0)) AS said  --@drawn
    FROM posting p  --@drawn
    JOIN telling t ON t.token = p.token  --@drawn
    WHERE p.tenant_id = %(tenant_id)s AND p.scope_no = %(scope_no)s  --@drawn
          AND p.token = ANY(ARRAY(SELECT token FROM telling))  --@drawn
    GROUP BY p.doc_no  --@drawn
    ORDER BY said DESC, p.doc_no LIMIT %(draw_words)s  --@drawn
), sat_in AS MATERIALIZED (  --@drawn
    -- The sessions that say most of what is asked, by what was drawn of them.  --@drawn
    SELECT m.origin_session, sum(%(lexical_weight)s::float8 * coalesce(w.said / (SELECT best FROM reach), 0::float8)  --@drawn
               + %(vector_weight)s::float8 * coalesce(greatest(0::float8, n.relevance), 0::float8)) AS says  --@drawn
    FROM (SELECT doc_no FROM near UNION SELECT doc_no FROM words) d  --@drawn
    CROSS JOIN LATERAL (SELECT doc_no, kind, origin_session FROM memory  --@drawn
                        WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s  --@drawn
                              AND doc_no >= d.doc_no ORDER BY doc_no LIMIT 1) m  --@drawn
    LEFT JOIN words w ON w.doc_no = m.doc_no  --@drawn
    LEFT JOIN (SELECT doc_no, (cos(pi() * distance / (SELECT bit_length(signs) FROM wanted)) - %(cosine_low)s::float8)  --@drawn
                              / (%(cosine_high)s::float8 - %(cosine_low)s::float8) AS relevance  --@drawn
               FROM near) n ON n.doc_no = m.doc_no  --@drawn
    WHERE %(contextual)s::boolean AND m.doc_no = d.doc_no AND m.kind = 7 AND m.origin_session IS NOT NULL  --@drawn
    GROUP BY m.origin_session  --@drawn
    ORDER BY says DESC, m.origin_session COLLATE "C" LIMIT %(draw_sessions)s  --@drawn
), drawn AS MATERIALIZED (  --@drawn
    SELECT doc_no FROM near  --@drawn
    UNION SELECT doc_no FROM words  --@drawn
    UNION (SELECT doc_no FROM marked WHERE slot_named > 0 ORDER BY slot_named DESC, doc_no LIMIT %(draw_words)s)  --@drawn
    UNION (SELECT doc_no FROM memory  --@drawn
           WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND %(pinned_most)s::integer > 0  --@drawn
                 AND kind IN (1, 5) AND 'pinned' = ANY(tags) AND state = ANY(%(states)s::smallint[])  --@drawn
           ORDER BY doc_no LIMIT 1000)  --@drawn
    UNION (SELECT doc_no FROM memory  --@drawn
           WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s  --@drawn
                 AND origin_session = ANY(ARRAY(SELECT origin_session FROM sat_in))  --@drawn
           ORDER BY origin_session COLLATE "C", turn_number, doc_no LIMIT 10000)  --@drawn
), seen AS MATERIALIZED (  --@turns
), seen AS NOT MATERIALIZED (  --@facts
    -- The memories with what the indexes tell of them.
    SELECT e.doc_no, e.memory_id, e.left_by, e.kind, e.trust, e.source_type, e.confidence,
           e.valid_from, e.valid_to, e.create_time, e.reinforce_time, e.pinned,
           e.kind = 7 AS turn, e.origin_session, e.turn_number, e.term_count,  --@turns
           v.cosine, coalesce(k.spoken, false) AS spoken, k.mentions, k.slot_named, b.felt,
           l.doc_no IS NULL AND coalesce(k.apart, false) AS apart,
           k.answers, k.asks,  --@turns
           -- What the turn behind a question is given of how well that fits.  --@turns
           CASE WHEN NOT coalesce(k.asks, false) THEN 0::float8  --@turns
                WHEN v.cosine IS NULL THEN sign(%(around_lexical)s::float8)  --@turns
                    * coalesce(coalesce(l.bounded_said, l.bm25_said) / (SELECT best_said FROM reach), 0)  --@turns
                ELSE %(around_vector)s::float8 * greatest(0::float8, least(1::float8,  --@turns
                         (v.cosine - %(cosine_low)s::float8)  --@turns
                         / (%(cosine_high)s::float8 - %(cosine_low)s::float8)))  --@turns
                     + %(around_lexical)s::float8  --@turns
                         * coalesce(coalesce(l.bounded_said, l.bm25_said) / (SELECT best_said FROM reach), 0)  --@turns
           END AS asked,  --@turns
           CASE WHEN e.kind = 7 THEN l.bm25_said ELSE l.bm25 END AS bm25,  --@turns
           CASE WHEN e.kind = 7 THEN coalesce(l.bounded_said, l.bm25_said) / (SELECT best_said FROM reach)  --@turns
                ELSE coalesce(l.bounded, l.bm25) / (SELECT best FROM reach) END AS lexical_share  --@turns
           l.bm25, coalesce(l.bounded, l.bm25) / (SELECT best FROM reach) AS lexical_share  --@facts
    FROM scoped e
    LEFT JOIN vector_leg v ON v.doc_no = e.doc_no AND v.content_revision = e.content_revision
    LEFT JOIN lexical_leg l ON l.doc_no = e.doc_no
    LEFT JOIN marked k ON k.doc_no = e.doc_no
    LEFT JOIN feedback b ON b.doc_no = e.doc_no AND b.content_revision = e.content_revision
), turns AS MATERIALIZED (  --@turns
    -- The sessions of conversations, in order; a sitting is a session by number.  --@turns
    SELECT doc_no, first_value(doc_no) OVER sequence AS sitting,  --@turns
           row_number() OVER sequence * 32768 AS place,  --@turns
           coalesce(lag(asked) OVER sequence, 0) AS replied, term_count, cosine,  --@turns
           term_count + 0.75::float8 * (coalesce(lag(term_count) OVER sequence, 0)  --@turns
                                        + coalesce(lead(term_count) OVER sequence, 0))  --@turns
               + 0.5::float8 * (coalesce(lag(term_count, 2) OVER sequence, 0)  --@turns
                                + coalesce(lead(term_count, 2) OVER sequence, 0)) AS around_terms,  --@turns
           (coalesce(cosine, 0) + 0.75::float8 * (coalesce(lag(cosine) OVER sequence, 0)  --@turns
                                                  + coalesce(lead(cosine) OVER sequence, 0))  --@turns
               + 0.5::float8 * (coalesce(lag(cosine, 2) OVER sequence, 0)  --@turns
                                + coalesce(lead(cosine, 2) OVER sequence, 0)))  --@turns
           / nullif(CASE WHEN cosine IS NULL THEN 0 ELSE 1 END  --@turns
               + CASE WHEN lag(cosine) OVER sequence IS NULL THEN 0 ELSE 0.75::float8 END  --@turns
               + CASE WHEN lead(cosine) OVER sequence IS NULL THEN 0 ELSE 0.75::float8 END  --@turns
               + CASE WHEN lag(cosine, 2) OVER sequence IS NULL THEN 0 ELSE 0.5::float8 END  --@turns
               + CASE WHEN lead(cosine, 2) OVER sequence IS NULL THEN 0 ELSE 0.5::float8 END, 0) AS around_cosine  --@turns
    FROM seen  --@turns
    WHERE %(contextual)s::boolean AND left_by = 0 AND turn AND origin_session IS NOT NULL  --@turns
          AND origin_session = ANY(ARRAY(SELECT origin_session FROM sat_in))  --@drawn
    WINDOW sequence AS (PARTITION BY origin_session COLLATE "C" ORDER BY turn_number, doc_no)  --@turns
), turn_hits AS MATERIALIZED (  --@turns
    SELECT t.sitting, t.place + h.no AS spot, h.no, h.tf  --@turns
    FROM hits h  --@turns
    JOIN turns t ON t.doc_no = h.doc_no  --@turns
    WHERE NOT h.speaks  --@turns
), around_terms AS (  --@turns
    SELECT sitting, spot, sum(tf) AS tf  --@turns
    FROM (SELECT sitting, spot - 65536 AS spot, 0.5::float8 * tf AS tf FROM turn_hits  --@turns
          UNION ALL SELECT sitting, spot - 32768, 0.75::float8 * tf FROM turn_hits  --@turns
          UNION ALL SELECT sitting, spot, tf FROM turn_hits  --@turns
          UNION ALL SELECT sitting, spot + 32768, 0.75::float8 * tf FROM turn_hits  --@turns
          UNION ALL SELECT sitting, spot + 65536, 0.5::float8 * tf FROM turn_hits) spread  --@turns
    GROUP BY sitting, spot  --@turns
), around_words AS MATERIALIZED (  --@turns
    SELECT doc_no, sum(most * tf / nullif(tf + long, 0)) / (SELECT best_said FROM reach) AS share  --@turns
    FROM (  --@turns
        SELECT t.doc_no, a.tf,  --@turns
               (SELECT array_agg(most ORDER BY no) FROM frequencies)[a.spot & 32767] AS most,  --@turns
               0.3::float8 + 0.9::float8 * least(4::float8,  --@turns
                   t.around_terms / nullif((SELECT avg(around_terms) FROM turns), 0)) AS long  --@turns
        FROM around_terms a  --@turns
        JOIN turns t ON t.sitting = a.sitting AND t.place = a.spot - (a.spot & 32767)  --@turns
        OFFSET 0  --@turns
    ) a  --@turns
    GROUP BY doc_no  --@turns
), sittings AS MATERIALIZED (  --@turns
    SELECT sitting, sum(term_count)::float8 AS terms, max(cosine) AS nearest FROM turns GROUP BY sitting  --@turns
), sitting_terms AS MATERIALIZED (  --@turns
    SELECT sitting, no, sum(tf) AS tf, count(*) AS turns FROM turn_hits GROUP BY sitting, no  --@turns
), sitting_frequencies AS MATERIALIZED (  --@turns
    SELECT f.no,  --@turns
           ln(1 + ((SELECT count(*) FROM sittings) - coalesce(d.df, 1) + 0.5::float8)  --@turns exact
                  / (coalesce(d.df, 1) + 0.5::float8)) AS idf  --@turns exact
    FROM frequencies f  --@turns exact
    LEFT JOIN (SELECT no, count(*)::float8 AS df FROM sitting_terms GROUP BY no) d ON d.no = f.no  --@turns exact
           -- As if all sessions were of the size of those at hand, and had a word as often as these do.  --@drawn
           ln(1 + (f.sessions - f.spread + 0.5::float8) / (f.spread + 0.5::float8)) AS idf  --@drawn
    FROM (SELECT f.no, f.speaks, a.sessions,  --@drawn
                 greatest(1::float8, least(a.sessions, f.df * coalesce(d.sittings / d.turns, 1))) AS spread  --@drawn
          FROM frequencies f  --@drawn
          CROSS JOIN (SELECT greatest(1::float8, (SELECT documents FROM statistics) * (SELECT count(*) FROM sittings)  --@drawn
                          / greatest((SELECT count(*) FROM turns), 1)) AS sessions) a  --@drawn
          LEFT JOIN (SELECT no, count(*)::float8 AS sittings, sum(turns)::float8 AS turns FROM sitting_terms  --@drawn
                     GROUP BY no) d ON d.no = f.no) f  --@drawn
    WHERE NOT f.speaks AND EXISTS (SELECT FROM sittings)  --@turns
), session_words AS (  --@turns
    SELECT s.sitting,  --@turns
           sum(f.idf * s.tf * 2.2::float8  --@turns
               / nullif(s.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * least(4::float8,  --@turns
                   t.terms / nullif((SELECT avg(terms) FROM sittings), 0))), 0))  --@turns
               / (SELECT nullif(sum(idf), 0) * 2.2::float8 FROM sitting_frequencies) AS share  --@turns
    FROM sitting_terms s  --@turns
    JOIN sitting_frequencies f ON f.no = s.no  --@turns
    JOIN sittings t ON t.sitting = s.sitting  --@turns
    GROUP BY s.sitting  --@turns
), session_leg AS MATERIALIZED (  --@turns
    SELECT t.sitting,  --@turns
           CASE WHEN t.nearest IS NULL THEN sign(%(around_lexical)s::float8) * coalesce(s.share, 0::float8)  --@turns
                ELSE %(around_vector)s::float8 * greatest(0::float8, least(1::float8,  --@turns
                         (t.nearest - %(cosine_low)s::float8)  --@turns
                         / (%(cosine_high)s::float8 - %(cosine_low)s::float8)))  --@turns
                     + %(around_lexical)s::float8 * coalesce(s.share, 0::float8) END AS fit  --@turns
    FROM sittings t  --@turns
    LEFT JOIN session_words s ON s.sitting = t.sitting  --@turns
), feedback AS MATERIALIZED (
    -- Every reporter has one voice, however often he reports, and no text has the voices of an earlier one.
    -- In a fixed order, so that the sum is the same to its last digit.
    SELECT doc_no, content_revision, sum(voice ORDER BY actor) / (count(*) + 2) AS felt
    FROM (SELECT f.doc_no, f.content_revision, f.actor,
                 (greatest(0, f.helpful)::float8 - greatest(0, f.harmful)::float8)
                     / (1 + greatest(0, f.helpful)::float8 + greatest(0, f.neutral)::float8
                        + greatest(0, f.harmful)::float8) AS voice
          FROM memory_feedback f
          WHERE f.tenant_id = %(tenant_id)s AND f.scope_id = %(scope_id)s
                AND f.doc_no = ANY(ARRAY(SELECT doc_no FROM drawn))  --@drawn
                AND %(feedback_weight)s::float8 > 0) voices
    GROUP BY doc_no, content_revision
), weighed AS MATERIALIZED (
    SELECT j.doc_no, j.memory_id, j.left_by, j.kind = 7 AS turn, j.left_by = 0 AND j.pinned AS pinned,
           -- Ranks move a score only where they are what is added up: then `sum` is not it.
           least(1::float8, greatest(0::float8, j.factor * (
               j.own_weight * j.own + j.around_weight * coalesce(j.around, 0::float8) + j.session_part + j.form +  --@turns
               j.own +  --@facts
               j.entity_part + j.time_part + j.slot_part))) AS sum,
           -- What speaks for the memory itself: who speaks, how long, and in which session, is no reason.
           greatest(j.own, j.around)  --@turns
           j.own  --@facts
               + %(time_evidence)s::float8 * j.time_part
               + %(entity_evidence)s::float8 * j.entity_part + j.slot_part
               - CASE WHEN j.pinned THEN %(pinned_weight)s::float8 ELSE 0 END AS evidence,
           -- First what is looked at in every row.
           j.cosine, j.bm25, j.slot_part,
           j.around, j.around_weight, j.session_fit, j.session_part, j.own_weight,  --@turns
           j.length, j.answers, j.asks, j.replied,  --@turns
           j.entity, j.entity_part, j.named_time, j.time_part, j.slot_named, j.relevance, j.lexical_share, j.own,
           j.apart,
           j.kind_factor, j.trust_factor, j.source_factor, j.confidence_factor, j.recency_factor, j.feedback_factor
    FROM (
        SELECT i.*,
               CASE WHEN around IS NULL THEN 1::float8 - CASE WHEN turn THEN %(turn_room)s::float8 ELSE 0 END  --@turns
                    ELSE 1::float8 - %(turn_room)s::float8 - %(around_weight)s::float8 END AS own_weight,  --@turns
               CASE WHEN around IS NULL THEN 0::float8 ELSE %(around_weight)s::float8 END AS around_weight,  --@turns
               CASE WHEN turn THEN %(length_weight)s::float8 * length  --@turns
                        + %(answer_weight)s::float8 * answers  --@turns
                        - CASE WHEN asks THEN %(question_weight)s::float8 ELSE 0 END  --@turns
                        + %(reply_weight)s::float8 * replied ELSE 0 END AS form,  --@turns
               %(session_weight)s::float8 * coalesce(session_fit, 0::float8) AS session_part,  --@turns
               %(entity_weight)s::float8 * coalesce(entity, 0::float8) AS entity_part,
               %(time_weight)s::float8 * coalesce(named_time, 0::float8) AS time_part,
               %(slot_weight)s::float8 * least(1::float8, coalesce(slot_named, 0::float8))
                   + CASE WHEN pinned THEN %(pinned_weight)s::float8 ELSE 0 END AS slot_part,
               kind_factor * trust_factor * source_factor * confidence_factor * recency_factor
                   * feedback_factor AS factor
        FROM (
            SELECT m.*,
                   CASE WHEN cosine IS NULL
                        THEN sign(%(lexical_weight)s::float8) * coalesce(lexical_share, 0::float8)
                        -- In another script no word of the query can stand: that it does not says less.
                        ELSE (%(vector_weight)s::float8 + CASE WHEN apart THEN %(apart_weight)s::float8 ELSE 0 END)
                                 * relevance
                             + %(lexical_weight)s::float8 * coalesce(lexical_share, 0::float8) END AS own
            FROM (
                SELECT e.doc_no, e.memory_id, e.left_by, e.kind, e.pinned, e.cosine, e.bm25, e.lexical_share, e.apart,
                       greatest(0::float8, least(1::float8,
                           (e.cosine - %(cosine_low)s::float8)
                           / (%(cosine_high)s::float8 - %(cosine_low)s::float8))) AS relevance,
                       e.turn,  --@turns
                       CASE WHEN t.doc_no IS NULL THEN NULL  --@turns
                            WHEN t.around_cosine IS NULL  --@turns
                            THEN sign(%(around_lexical)s::float8) * coalesce(w.share, 0::float8)  --@turns
                            ELSE %(around_vector)s::float8 * greatest(0::float8, least(1::float8,  --@turns
                                     (t.around_cosine - %(cosine_low)s::float8)  --@turns
                                     / (%(cosine_high)s::float8 - %(cosine_low)s::float8)))  --@turns
                                 + %(around_lexical)s::float8 * coalesce(w.share, 0::float8) END AS around,  --@turns
                       s.fit AS session_fit,  --@turns
                       CASE WHEN e.turn THEN coalesce(e.answers, 0::float8) ELSE 0::float8 END AS answers,  --@turns
                       CASE WHEN e.turn THEN least(1::float8, e.term_count / 40::float8) ELSE 0::float8 END  --@turns
                           AS length,  --@turns
                       e.turn AND coalesce(e.asks, false) AS asks,  --@turns
                       coalesce(t.replied, 0) AS replied,  --@turns
                       CASE WHEN e.spoken THEN 1::float8
                            WHEN e.mentions > 0 THEN 0.5::float8 * e.mentions
                                / (SELECT nullif(count(DISTINCT token), 0) FROM marks
                                   WHERE token = ANY(%(names)s::bigint[]))
                       END AS entity,
                       CASE WHEN isempty(%(spans)s::tstzmultirange) THEN NULL
                            WHEN %(spans)s::tstzmultirange @> coalesce(e.valid_from, e.create_time) THEN 1::float8
                            -- Of a validity without an end it is known that it began, and no more.
                            WHEN e.valid_from < e.valid_to AND %(spans)s::tstzmultirange
                                && tstzrange(e.valid_from, greatest(e.valid_from, e.valid_to)) THEN 1::float8
                            WHEN %(spans)s::tstzmultirange @> e.create_time THEN 0.5::float8 END AS named_time,
                       e.slot_named,
                       -- Numbers that the service never stores count like an ordinary one: the seal is what
                       -- judges them.
                       coalesce((%(kind_factors)s::float8[])[e.kind], 1) AS kind_factor,
                       coalesce((%(trust_factors)s::float8[])[e.trust], 1) AS trust_factor,
                       coalesce((%(source_factors)s::float8[])[e.source_type], 1) AS source_factor,
                       1 - %(confidence_weight)s::float8
                           * (1 - greatest(0::float8, least(1::float8, coalesce(e.confidence, 1)))) AS confidence_factor,
                       -- In whole days, so that the same question has the same answer for a while. An instant
                       -- without end has none.
                       1 - %(recency_weight)s::float8 * (1 - power(2::float8, - least(1000::float8,
                           greatest(0::float8, coalesce(date_part('day', %(now)s::timestamptz
                               - coalesce(e.reinforce_time, least(e.valid_from, e.create_time))), 0))
                           / coalesce((%(half_lives)s::float8[])[e.kind], 1)))) AS recency_factor,
                       1 + %(feedback_weight)s::float8 * coalesce(e.felt, 0::float8) AS feedback_factor
                FROM seen e
                LEFT JOIN turns t ON t.doc_no = e.doc_no  --@turns
                LEFT JOIN around_words w ON w.doc_no = e.doc_no  --@turns
                LEFT JOIN session_leg s ON s.sitting = t.sitting  --@turns
                OFFSET 0
            ) m
        ) i
    ) j
), least AS MATERIALIZED (  --@summed
    SELECT min(cosine) AS cosine, min(bm25) AS bm25, min(entity) AS entity, min(named_time) AS named_time,  --@summed
           min(around) AS around, min(session_fit) AS session_fit,  --@turns summed
           min(nullif(slot_part, 0)) AS slot_part  --@summed
    FROM chosen  --@summed
), places AS (
    -- Places in each leg, to a depth; of equals in a leg that says little they are the same. Where the best are
    -- known already, only they need one, and what is not as good as the last of them takes none before them.
    SELECT 1 AS leg, doc_no, row_number() OVER (ORDER BY cosine DESC, memory_id) AS place
    FROM (SELECT doc_no, cosine, memory_id FROM weighed
          WHERE left_by = 0 AND %(vector_ranks)s::boolean AND cosine IS NOT NULL
                AND cosine >= (SELECT cosine FROM least)  --@summed
          ORDER BY cosine DESC, memory_id LIMIT %(rank_depth)s) first
    UNION ALL
    SELECT 2, doc_no, row_number() OVER (ORDER BY bm25 DESC, memory_id)
    FROM (SELECT doc_no, bm25, memory_id FROM weighed
          WHERE left_by = 0 AND %(lexical_ranks)s::boolean AND bm25 IS NOT NULL
                AND bm25 >= (SELECT bm25 FROM least)  --@summed
          ORDER BY bm25 DESC, memory_id LIMIT %(rank_depth)s) first
    UNION ALL  --@turns
    SELECT 3, doc_no, row_number() OVER (ORDER BY around DESC, memory_id)  --@turns
    FROM (SELECT doc_no, around, memory_id FROM weighed  --@turns
          WHERE left_by = 0 AND around > 0 AND around_weight > 0  --@turns
                AND around >= (SELECT around FROM least)  --@turns summed
          ORDER BY around DESC, memory_id LIMIT %(rank_depth)s) first  --@turns
    UNION ALL  --@turns
    SELECT 4, doc_no, rank() OVER (ORDER BY session_fit DESC)  --@turns
    FROM (SELECT doc_no, session_fit, memory_id FROM weighed  --@turns
          WHERE left_by = 0 AND session_part > 0  --@turns
                AND session_fit >= (SELECT session_fit FROM least)  --@turns summed
          ORDER BY session_fit DESC, memory_id LIMIT %(rank_depth)s) first  --@turns
    UNION ALL
    SELECT leg, doc_no, rank() OVER (PARTITION BY leg ORDER BY value DESC)
    FROM (SELECT 5 AS leg, doc_no, entity AS value FROM weighed
          WHERE EXISTS (SELECT FROM marks) AND left_by = 0 AND entity_part > 0
                AND entity >= (SELECT entity FROM least)  --@summed
          UNION ALL
          SELECT 6, doc_no, named_time FROM weighed
          WHERE NOT isempty(%(spans)s::tstzmultirange) AND left_by = 0 AND time_part > 0
                AND named_time >= (SELECT named_time FROM least)  --@summed
          UNION ALL
          SELECT 7, doc_no, slot_part FROM weighed
          WHERE left_by = 0 AND slot_part > 0
                AND (SELECT slot_part FROM least) IS NOT NULL AND slot_part >= (SELECT slot_part FROM least)  --@summed
         ) legs
), ranks AS MATERIALIZED (
    SELECT doc_no, max(place) FILTER (WHERE leg = 1) AS vector_rank, max(place) FILTER (WHERE leg = 2) AS lexical_rank,
           max(place) FILTER (WHERE leg = 3) AS around_rank, max(place) FILTER (WHERE leg = 4) AS session_rank,  --@turns
           max(place) FILTER (WHERE leg = 5) AS entity_rank, max(place) FILTER (WHERE leg = 6) AS time_rank,
           max(place) FILTER (WHERE leg = 7) AS slot_rank
    FROM places
    WHERE doc_no IN (SELECT doc_no FROM chosen)  --@summed
    GROUP BY doc_no
), scored AS MATERIALIZED (  --@fused
), scored AS NOT MATERIALIZED (  --@summed
    SELECT doc_no, memory_id, pinned, score,
           score >= %(min_score)s::float8 AND (score > 0 OR compared)
               AND (evidence >= %(min_score)s::float8
                    OR %(reciprocal)s::boolean  --@fused
               ) AS relevant
    FROM (
        SELECT w.doc_no, w.memory_id, w.pinned, w.evidence, w.cosine IS NOT NULL AS compared,
               CASE WHEN %(reciprocal)s::boolean  --@fused
                    THEN (coalesce(61 / (60::float8 + f.vector_rank), 0) + coalesce(61 / (60::float8 + f.lexical_rank), 0)  --@fused
                          + coalesce(61 / (60::float8 + f.around_rank), 0) + coalesce(61 / (60::float8 + f.session_rank), 0)  --@fused
                          + coalesce(61 / (60::float8 + f.entity_rank), 0) + coalesce(61 / (60::float8 + f.time_rank), 0)  --@fused
                          + coalesce(61 / (60::float8 + f.slot_rank), 0)) / %(leg_count)s::float8  --@fused
                    ELSE w.sum END AS score  --@fused
               w.sum AS score  --@summed
        FROM weighed w
        LEFT JOIN ranks f ON f.doc_no = w.doc_no  --@fused
        WHERE w.left_by = 0
    ) s
), ahead AS MATERIALIZED (
    SELECT doc_no, memory_id, score FROM scored WHERE relevant
    ORDER BY score DESC, memory_id LIMIT %(fetch)s
), crowd AS MATERIALIZED (  --@fused
    -- Whether so many of the first are of sources with too many there that too few are left (the rule is that of  --@fused
    -- application/choosing.py). Then what comes behind them is found as well.  --@fused
    SELECT count(*) = %(fetch)s AND count(*) FILTER (WHERE place <= %(source_most)s) < %(limit)s AS crowded  --@fused
    FROM (SELECT CASE WHEN m.source IS NULL THEN 0  --@fused
                 ELSE row_number() OVER (PARTITION BY m.source ORDER BY a.score DESC, a.memory_id) END AS place  --@fused
          FROM ahead a  --@fused
          JOIN (SELECT memory_id, CASE WHEN trust >= 4 OR (trust = 3 AND kind = 7) THEN NULL  --@fused
                                       WHEN source_ref <> '' THEN 'ref ' || source_ref  --@fused
                                       WHEN trust < 3 THEN 'author ' || author END AS source  --@fused
                FROM memory  --@fused
                WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(ARRAY(SELECT memory_id FROM ahead))  --@fused
                      AND %(limit)s::integer > 0) m ON m.memory_id = a.memory_id) places  --@fused
), behind AS MATERIALIZED (  --@fused
    SELECT doc_no, memory_id, score, source IS NOT NULL AND place > %(source_most)s AS too_many  --@fused
    FROM (SELECT s.doc_no, s.memory_id, s.score, m.source,  --@fused
                 row_number() OVER (PARTITION BY m.source ORDER BY s.score DESC, s.memory_id) AS place  --@fused
          FROM scored s  --@fused
          JOIN (SELECT memory_id, CASE WHEN trust >= 4 OR (trust = 3 AND kind = 7) THEN NULL  --@fused
                                       WHEN source_ref <> '' THEN 'ref ' || source_ref  --@fused
                                       WHEN trust < 3 THEN 'author ' || author END AS source  --@fused
                FROM memory  --@fused
                WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND (SELECT crowded FROM crowd)  --@fused
                ) m ON m.memory_id = s.memory_id  --@fused
          WHERE s.relevant AND (SELECT crowded FROM crowd)) places  --@fused
), best AS MATERIALIZED (
    SELECT doc_no, memory_id, score, true AS found
    FROM ahead  --@summed
    FROM (SELECT * FROM ahead  --@fused
          UNION (SELECT doc_no, memory_id, score FROM behind WHERE NOT too_many  --@fused
                 ORDER BY score DESC, memory_id LIMIT %(fetch)s)  --@fused
          UNION (SELECT doc_no, memory_id, score FROM behind WHERE too_many  --@fused
                 ORDER BY score DESC, memory_id LIMIT %(fetch)s)) found  --@fused
    UNION ALL
    (SELECT doc_no, memory_id, score, false AS found FROM scored
     WHERE pinned AND relevant IS NOT TRUE
     ORDER BY score DESC, memory_id LIMIT %(pinned_most)s)
), chosen AS MATERIALIZED (
    SELECT b.found, b.score, w.*
    FROM weighed w
    JOIN best b ON b.doc_no = w.doc_no
), tally AS (
    SELECT count(*) AS total, count(*) FILTER (WHERE left_by = 1) AS other_state,
           count(*) FILTER (WHERE left_by = 2) AS expired, count(*) FILTER (WHERE left_by = 3) AS filtered,
           coalesce(bool_or(turn), false) AS turns
    FROM weighed
)
SELECT t.total, t.other_state, t.expired, t.filtered, t.turns,
       (SELECT count(*) FROM scored WHERE scored.relevant) AS relevant,
       (SELECT count(*) FROM scored WHERE scored.relevant) >= %(fetch)s  --@drawn
           AND (%(embedding)s::halfvec IS NULL  --@drawn
                OR (SELECT count(*) FROM near n JOIN weighed e ON e.doc_no = n.doc_no WHERE e.left_by = 0) >= %(least_near)s  --@drawn
           ) AS enough,  --@drawn
       r.found, r.score, r.evidence, r.cosine, r.relevance, p.vector_rank, r.bm25, r.lexical_share,
       p.lexical_rank, r.own,
       r.own_weight, r.around, r.around_weight, p.around_rank,  --@turns
       r.session_fit, r.session_part, p.session_rank, r.length, r.answers, r.asks, r.replied,  --@turns
       1::float8 AS own_weight, NULL::float8 AS around, 0::float8 AS around_weight, NULL::bigint AS around_rank,  --@facts
       NULL::float8 AS session_fit, 0::float8 AS session_part, NULL::bigint AS session_rank, 0::float8 AS length,  --@facts
       0::float8 AS answers, false AS asks, 0::float8 AS replied,  --@facts
       r.entity, r.entity_part, p.entity_rank, r.named_time, r.time_part, p.time_rank,
       r.slot_named, r.slot_part, p.slot_rank,
       coalesce(r.apart, false) AS apart,
       r.kind_factor, r.trust_factor, r.source_factor, r.confidence_factor, r.recency_factor, r.feedback_factor,
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
       (SELECT e.state FROM memory_embedding e
        WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s
              AND e.doc_no = m.doc_no AND e.content_revision = m.content_revision) AS embedding_state,
       m.*
FROM tally t
LEFT JOIN (chosen r
    JOIN (
        SELECT * FROM memory
        WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(ARRAY(SELECT memory_id FROM best))
    ) m ON m.memory_id = r.memory_id
    LEFT JOIN ranks p ON p.doc_no = r.doc_no
) ON true
ORDER BY r.score DESC NULLS LAST, r.memory_id
