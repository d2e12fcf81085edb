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
-- A part that a scope or a query does not need has a condition of no row: it is decided once, and costs nothing.
-- OFFSET 0 keeps apart what would otherwise be worked out again at each place that names it.
-- Runs with enable_nestloop and enable_sort off: a plan must not depend on statistics that a fresh scope does
-- not have yet, all joins here are of sets of the scope's size, and all groups are found by hashing.
-- A line with a mark at its end belongs to the statement of that name alone. recall_large is for scopes with more
-- rows than are scored one by one (docs/recall.md): it draws the rows that may come first from indexes alone,
-- by the signs of the vectors (whose order is that of the cosines but for noise), by words, slots and pins, with
-- the sessions around the best turns; what is drawn is filtered and scored as ever. Where the filters leave too
-- little of what was drawn, `enough` is false, and the answer is to be had from recall.
WITH  --@recall
-- RECURSIVE: a part may name one that stands below it.
WITH RECURSIVE  --@recall_large
scoped AS MATERIALIZED (
    SELECT m.doc_no, m.memory_id, m.content_revision, m.state, m.kind, m.origin_session, m.turn_number,
           m.valid_from, m.create_time, m.reinforce_time, m.trust, m.source_type, m.confidence, m.term_count,
           %(pinned_most)s::integer > 0 AND m.kind IN (1, 5) AND 'pinned' = ANY(m.tags) AS pinned,
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
    FROM memory m  --@recall
    -- One by one: whatever the planner believes of the scope's size, it must not look through all of it.
    FROM drawn d  --@recall_large
    CROSS JOIN LATERAL (SELECT * FROM memory  --@recall_large
                        WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s  --@recall_large
                              AND doc_no = d.doc_no OFFSET 0) m  --@recall_large
    WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
          AND NOT m.memory_id = ANY(%(excluded)s::uuid[])
          AND (%(bound_agent)s::text IS NULL OR m.agent IS NULL OR m.agent = %(bound_agent)s)
), eligible AS MATERIALIZED (
    SELECT *, kind = 7 AS turn FROM scoped
    WHERE matching AND state = ANY(%(states)s::smallint[]) AND expired IS NOT TRUE
), company AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM eligible WHERE turn) AS turns,  --@recall
           EXISTS (SELECT FROM eligible WHERE turn IS NOT TRUE) AS others  --@recall
    SELECT true AS turns, true AS others  --@recall_large
), vector_leg AS MATERIALIZED (
    -- A vector of another length or of length 0 was put there by somebody else: it is no vector.
    SELECT e.doc_no, e.content_revision,
           nullif(1 - (e.embedding <=> %(embedding)s::halfvec)::float8, 'NaN'::float8) AS cosine
    FROM memory_embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s
          AND vector_dims(e.embedding) = vector_dims(%(embedding)s::halfvec)
          AND e.doc_no = ANY(ARRAY(SELECT doc_no FROM drawn))  --@recall_large
), postings AS MATERIALIZED (
    SELECT p.token, p.doc_no, p.tf::float8 AS tf, p.doc_terms
    FROM posting p
    WHERE p.tenant_id = %(tenant_id)s AND p.scope_no = %(scope_no)s AND p.token = ANY(%(tokens)s::bigint[])
          AND p.doc_no = ANY(ARRAY(SELECT doc_no FROM drawn))  --@recall_large
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
), named AS (
    SELECT q.token, q.no, s.token IS NOT NULL AS speaks
    FROM unnest(%(tokens)s::bigint[], %(speakers)s::bigint[]) WITH ORDINALITY AS q (token, speaker, no)
    LEFT JOIN (SELECT DISTINCT token FROM marks) s ON s.token = q.speaker
), frequencies AS MATERIALIZED (
    SELECT q.token, q.no,
           -- A query that is nothing but a speaker's name asks for what is said of that name as well.
           q.speaks AND NOT bool_and(q.speaks) OVER () AS speaks, coalesce(d.df, 1) AS df,
           2.2::float8 * ln(1 + (greatest((SELECT documents FROM statistics), coalesce(d.df, 1)) - coalesce(d.df, 1)
                   + 0.5::float8) / (coalesce(d.df, 1) + 0.5::float8)) AS most
    FROM named q
    LEFT JOIN (SELECT token, count(*)::float8 AS df FROM postings GROUP BY token) d ON d.token = q.token  --@recall
    LEFT JOIN (SELECT token, count(*)::float8 AS df FROM posting  --@recall_large
               WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND token = ANY(%(tokens)s::bigint[])  --@recall_large
               GROUP BY token) d ON d.token = q.token  --@recall_large
), reach AS MATERIALIZED (
    SELECT nullif(sum(most), 0) AS best, nullif(sum(most) FILTER (WHERE NOT speaks), 0) AS best_said
    FROM frequencies
), lexical_leg AS MATERIALIZED (
    -- Two sums are for turns, two for all others.
    SELECT doc_no, sum(most * tf / nullif(tf + long, 0)) FILTER (WHERE (SELECT others FROM company)) AS bm25,
           sum(most * tf / nullif(tf + least(long, 3.9::float8), 0)) FILTER (WHERE (SELECT others FROM company))
               AS bounded,
           sum(most * tf / nullif(tf + long, 0)) FILTER (WHERE NOT speaks AND (SELECT turns FROM company))
               AS bm25_said,
           sum(most * tf / nullif(tf + least(long, 3.9::float8), 0))
               FILTER (WHERE NOT speaks AND (SELECT turns FROM company)) AS said
    FROM (
        SELECT p.doc_no, p.tf, f.most, f.speaks,
               0.3::float8 + p.doc_terms * (SELECT per_term FROM statistics) AS long
        FROM postings p
        JOIN frequencies f ON f.token = p.token
        OFFSET 0
    ) contributions
    GROUP BY doc_no
), marked AS MATERIALIZED (
    SELECT doc_no,
           bool_or(token = ANY(%(speakers)s::bigint[]) OR token = ANY(%(roles)s::bigint[])) AS spoken,
           count(*) FILTER (WHERE token = ANY(%(names)s::bigint[]))::float8 AS mentions,
           -- The frequency of a slot's word is the number of words of the slot.
           sum(1 / greatest(tf, 1)::float8) FILTER (WHERE token = ANY(%(slot_words)s::bigint[])) AS slot_named,
           count(*) FILTER (WHERE token = ANY(%(wanted)s::bigint[]))::float8
               / greatest(cardinality(%(wanted)s::bigint[]), 1) AS answers,
           bool_or(token = %(asks)s) AS asks
    FROM marks
    GROUP BY doc_no
), wanted AS MATERIALIZED (  --@recall_large
    SELECT binary_quantize(%(embedding)s::halfvec)::bit varying AS signs  --@recall_large
), near AS MATERIALIZED (  --@recall_large
    SELECT e.doc_no, CASE WHEN bit_length(e.signs) = bit_length((SELECT signs FROM wanted))  --@recall_large
                          THEN e.signs <~> (SELECT signs FROM wanted) END AS distance  --@recall_large
    FROM memory_embedding e  --@recall_large
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_no = %(scope_no)s AND e.model_no = %(model_no)s  --@recall_large
          AND %(embedding)s::halfvec IS NOT NULL  --@recall_large
    ORDER BY distance, e.doc_no LIMIT %(draw_near)s  --@recall_large
), telling AS MATERIALIZED (  --@recall_large
    -- The rarest words, until they stand in enough memories: what has none of them is not among the best.  --@recall_large
    SELECT token, most  --@recall_large
    FROM (SELECT token, most, coalesce(sum(df) OVER (ORDER BY df, token ROWS BETWEEN UNBOUNDED PRECEDING  --@recall_large
                                                     AND 1 PRECEDING), 0) AS rarer FROM frequencies) f  --@recall_large
    WHERE rarer < 20000  --@recall_large
), words AS MATERIALIZED (  --@recall_large
    SELECT p.doc_no, sum(t.most * p.tf / nullif(p.tf + least(3.9::float8, 0.3::float8 + p.doc_terms  --@recall_large
                             * (SELECT per_term FROM statistics)), 0)) AS said  --@recall_large
    FROM posting p  --@recall_large
    JOIN telling t ON t.token = p.token  --@recall_large
    WHERE p.tenant_id = %(tenant_id)s AND p.scope_no = %(scope_no)s  --@recall_large
          AND p.token = ANY(ARRAY(SELECT token FROM telling))  --@recall_large
    GROUP BY p.doc_no  --@recall_large
    ORDER BY said DESC, p.doc_no LIMIT %(draw_words)s  --@recall_large
), sat_in AS MATERIALIZED (  --@recall_large
    -- The sessions that say most of what is asked, by what was drawn of them.  --@recall_large
    SELECT m.origin_session, sum(%(lexical_weight)s::float8 * coalesce(w.said / (SELECT best FROM reach), 0::float8)  --@recall_large
               + %(vector_weight)s::float8 * coalesce(greatest(0::float8, n.relevance), 0::float8)) AS says  --@recall_large
    FROM (SELECT doc_no FROM near UNION SELECT doc_no FROM words) d  --@recall_large
    CROSS JOIN LATERAL (SELECT doc_no, origin_session FROM memory  --@recall_large
                        WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND doc_no = d.doc_no  --@recall_large
                              AND kind = 7 AND origin_session IS NOT NULL OFFSET 0) m  --@recall_large
    LEFT JOIN words w ON w.doc_no = m.doc_no  --@recall_large
    LEFT JOIN (SELECT doc_no, (cos(pi() * distance / (SELECT bit_length(signs) FROM wanted)) - %(cosine_low)s::float8)  --@recall_large
                              / (%(cosine_high)s::float8 - %(cosine_low)s::float8) AS relevance  --@recall_large
               FROM near) n ON n.doc_no = m.doc_no  --@recall_large
    WHERE %(contextual)s::boolean  --@recall_large
    GROUP BY m.origin_session  --@recall_large
    ORDER BY says DESC, m.origin_session COLLATE "C" LIMIT %(draw_sessions)s  --@recall_large
), drawn AS MATERIALIZED (  --@recall_large
    SELECT doc_no FROM near  --@recall_large
    UNION SELECT doc_no FROM words  --@recall_large
    UNION (SELECT doc_no FROM marked WHERE slot_named > 0 ORDER BY slot_named DESC, doc_no LIMIT %(draw_words)s)  --@recall_large
    UNION (SELECT doc_no FROM memory  --@recall_large
           WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND %(pinned_most)s::integer > 0  --@recall_large
                 AND kind IN (1, 5) AND 'pinned' = ANY(tags) AND state = ANY(%(states)s::smallint[])  --@recall_large
           ORDER BY doc_no LIMIT 1000)  --@recall_large
    UNION (SELECT doc_no FROM memory  --@recall_large
           WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s  --@recall_large
                 AND origin_session = ANY(ARRAY(SELECT origin_session FROM sat_in))  --@recall_large
           ORDER BY origin_session COLLATE "C", turn_number, doc_no LIMIT 10000)  --@recall_large
), turns AS MATERIALIZED (
    -- The sessions of conversations, in order; a sitting is a session by number. Places are numbered through
    -- all sessions, with room between them for what is spread to either side.
    SELECT e.doc_no, first_value(e.doc_no) OVER sequence AS sitting,
           (row_number() OVER rows + 4 * dense_rank() OVER sessions) * 32768 AS place,
           lag(k.asks) OVER sequence AS asked, lag(l.said) OVER sequence AS said_before, e.term_count,
           e.term_count + 0.75::float8 * (coalesce(lag(e.term_count) OVER sequence, 0)
                                          + coalesce(lead(e.term_count) OVER sequence, 0))
               + 0.5::float8 * (coalesce(lag(e.term_count, 2) OVER sequence, 0)
                                + coalesce(lead(e.term_count, 2) OVER sequence, 0)) AS around_terms,
           v.cosine,
           lag(v.cosine) OVER sequence AS before, lead(v.cosine) OVER sequence AS behind,
           lag(v.cosine, 2) OVER sequence AS before_2, lead(v.cosine, 2) OVER sequence AS behind_2
    FROM eligible e
    LEFT JOIN vector_leg v ON v.doc_no = e.doc_no AND v.content_revision = e.content_revision
    LEFT JOIN marked k ON k.doc_no = e.doc_no
    LEFT JOIN lexical_leg l ON l.doc_no = e.doc_no
    WHERE %(contextual)s::boolean AND (SELECT turns FROM company) AND e.turn AND e.origin_session IS NOT NULL
          AND e.origin_session = ANY(ARRAY(SELECT origin_session FROM sat_in))  --@recall_large
    WINDOW sequence AS (PARTITION BY e.origin_session COLLATE "C" ORDER BY e.turn_number, e.doc_no),
           rows AS (ORDER BY e.origin_session COLLATE "C", e.turn_number, e.doc_no),
           sessions AS (ORDER BY e.origin_session COLLATE "C")
), turn_hits AS MATERIALIZED (
    SELECT t.sitting, t.place + f.no AS spot, f.no, p.tf
    FROM postings p
    JOIN frequencies f ON f.token = p.token
    JOIN turns t ON t.doc_no = p.doc_no
    WHERE (SELECT turns FROM company) AND NOT f.speaks
), steps AS MATERIALIZED (
    SELECT * FROM (VALUES (-65536, 0.5::float8), (-32768, 0.75), (0, 1), (32768, 0.75), (65536, 0.5))
        AS step (far, share)
), around_terms AS (
    SELECT h.spot + s.far AS spot, sum(h.tf * s.share) AS tf
    FROM turn_hits h CROSS JOIN steps s
    GROUP BY h.spot + s.far
), around_words AS MATERIALIZED (
    SELECT a.doc_no, sum(f.most * a.tf / nullif(a.tf + a.long, 0)) / (SELECT best_said FROM reach) AS share
    FROM (
        SELECT t.doc_no, a.tf, a.spot & 32767 AS no,
               0.3::float8 + 0.9::float8 * least(4::float8,
                   t.around_terms / nullif((SELECT avg(around_terms) FROM turns), 0)) AS long
        FROM around_terms a
        JOIN turns t ON t.place = a.spot - (a.spot & 32767)
    ) a
    JOIN frequencies f ON f.no = a.no
    GROUP BY a.doc_no
), sittings AS MATERIALIZED (
    SELECT sitting, sum(term_count)::float8 AS terms, max(cosine) AS nearest FROM turns GROUP BY sitting
), sitting_terms AS MATERIALIZED (
    SELECT sitting, no, sum(tf) AS tf, count(*) AS turns FROM turn_hits GROUP BY sitting, no
), sitting_frequencies AS MATERIALIZED (
    SELECT f.no,
           ln(1 + ((SELECT count(*) FROM sittings) - coalesce(d.df, 1) + 0.5::float8)  --@recall
                  / (coalesce(d.df, 1) + 0.5::float8)) AS idf  --@recall
    FROM frequencies f  --@recall
    LEFT JOIN (SELECT no, count(*)::float8 AS df FROM sitting_terms GROUP BY no) d ON d.no = f.no  --@recall
           -- As if all sessions were of the size of those at hand, and had a word as often as these do.  --@recall_large
           ln(1 + (f.sessions - f.spread + 0.5::float8) / (f.spread + 0.5::float8)) AS idf  --@recall_large
    FROM (SELECT f.no, f.speaks, a.sessions,  --@recall_large
                 greatest(1::float8, least(a.sessions, f.df * coalesce(d.sittings / d.turns, 1))) AS spread  --@recall_large
          FROM frequencies f  --@recall_large
          CROSS JOIN (SELECT greatest(1::float8, (SELECT documents FROM statistics) * (SELECT count(*) FROM sittings)  --@recall_large
                          / greatest((SELECT count(*) FROM turns), 1)) AS sessions) a  --@recall_large
          LEFT JOIN (SELECT no, count(*)::float8 AS sittings, sum(turns)::float8 AS turns FROM sitting_terms  --@recall_large
                     GROUP BY no) d ON d.no = f.no) f  --@recall_large
    WHERE NOT f.speaks AND EXISTS (SELECT FROM sittings)
), session_words AS (
    SELECT s.sitting,
           sum(f.idf * s.tf * 2.2::float8
               / nullif(s.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * least(4::float8,
                   t.terms / nullif((SELECT avg(terms) FROM sittings), 0))), 0))
               / (SELECT nullif(sum(idf), 0) * 2.2::float8 FROM sitting_frequencies) AS share
    FROM sitting_terms s
    JOIN sitting_frequencies f ON f.no = s.no
    JOIN sittings t ON t.sitting = s.sitting
    GROUP BY s.sitting
), session_leg AS MATERIALIZED (
    SELECT t.sitting,
           CASE WHEN t.nearest IS NULL THEN sign(%(around_lexical)s::float8) * coalesce(s.share, 0::float8)
                ELSE %(around_vector)s::float8 * greatest(0::float8, least(1::float8,
                         (t.nearest - %(cosine_low)s::float8)
                         / (%(cosine_high)s::float8 - %(cosine_low)s::float8)))
                     + %(around_lexical)s::float8 * coalesce(s.share, 0::float8) END AS fit
    FROM sittings t
    LEFT JOIN session_words s ON s.sitting = t.sitting
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
                AND f.doc_no = ANY(ARRAY(SELECT doc_no FROM drawn))  --@recall_large
                AND %(feedback_weight)s::float8 > 0) voices
    GROUP BY doc_no, content_revision
), weighed AS MATERIALIZED (
    SELECT j.doc_no, j.memory_id, j.pinned,
           -- Ranks move a score only where they are what is added up: then `sum` is not it.
           least(1::float8, greatest(0::float8, j.factor * (j.own_weight * j.own
               + j.around_weight * coalesce(j.around, 0::float8)
               + j.session_part + j.entity_part + j.time_part + j.slot_part + j.form))) AS sum,
           -- What speaks for the memory itself: who speaks, how long, and in which session, is no reason.
           greatest(j.own, j.around) + %(time_evidence)s::float8 * j.time_part
               + %(entity_evidence)s::float8 * j.entity_part + j.slot_part
               - CASE WHEN j.pinned THEN %(pinned_weight)s::float8 ELSE 0 END AS evidence,
           j.cosine, j.bm25, j.around, j.around_weight, j.session_fit, j.session_part, j.entity, j.entity_part,
           j.named_time, j.time_part, j.slot_part, j.slot_named, j.relevance, j.lexical_share, j.own, j.own_weight,
           j.length, j.answers, j.asks, j.replied,
           j.kind_factor, j.trust_factor, j.source_factor, j.confidence_factor, j.recency_factor, j.feedback_factor
    FROM (
        SELECT i.*,
               CASE WHEN around IS NULL THEN 1::float8 - CASE WHEN turn THEN %(turn_room)s::float8 ELSE 0 END
                    ELSE 1::float8 - %(turn_room)s::float8 - %(around_weight)s::float8 END AS own_weight,
               CASE WHEN around IS NULL THEN 0::float8 ELSE %(around_weight)s::float8 END AS around_weight,
               CASE WHEN turn THEN %(length_weight)s::float8 * length
                        + %(answer_weight)s::float8 * answers
                        - CASE WHEN asks THEN %(question_weight)s::float8 ELSE 0 END
                        + %(reply_weight)s::float8 * replied ELSE 0 END AS form,
               %(entity_weight)s::float8 * coalesce(entity, 0::float8) AS entity_part,
               %(time_weight)s::float8 * coalesce(named_time, 0::float8) AS time_part,
               %(slot_weight)s::float8 * least(1::float8, coalesce(slot_named, 0::float8))
                   + CASE WHEN pinned THEN %(pinned_weight)s::float8 ELSE 0 END AS slot_part,
               %(session_weight)s::float8 * coalesce(session_fit, 0::float8) AS session_part,
               kind_factor * trust_factor * source_factor * confidence_factor * recency_factor
                   * feedback_factor AS factor
        FROM (
            SELECT m.*,
                   CASE WHEN cosine IS NULL
                        THEN sign(%(lexical_weight)s::float8) * coalesce(lexical_share, 0::float8)
                        ELSE %(vector_weight)s::float8 * relevance
                             + %(lexical_weight)s::float8 * coalesce(lexical_share, 0::float8) END AS own,
                   CASE WHEN NOT seated THEN NULL
                        WHEN around_cosine IS NULL
                        THEN sign(%(around_lexical)s::float8) * coalesce(around_share, 0::float8)
                        ELSE %(around_vector)s::float8 * greatest(0::float8, least(1::float8,
                                 (around_cosine - %(cosine_low)s::float8)
                                 / (%(cosine_high)s::float8 - %(cosine_low)s::float8)))
                             + %(around_lexical)s::float8 * coalesce(around_share, 0::float8) END AS around
            FROM (
                SELECT e.doc_no, e.memory_id, e.turn, e.pinned, v.cosine,
                       CASE WHEN e.turn THEN l.bm25_said ELSE l.bm25 END AS bm25,
                       CASE WHEN e.turn THEN l.said / (SELECT best_said FROM reach)
                            ELSE l.bounded / (SELECT best FROM reach) END AS lexical_share,
                       greatest(0::float8, least(1::float8,
                           (v.cosine - %(cosine_low)s::float8)
                           / (%(cosine_high)s::float8 - %(cosine_low)s::float8))) AS relevance,
                       t.doc_no IS NOT NULL AS seated,
                       CASE WHEN t.doc_no IS NOT NULL THEN
                           (coalesce(t.cosine, 0) + 0.75::float8 * (coalesce(t.before, 0) + coalesce(t.behind, 0))
                               + 0.5::float8 * (coalesce(t.before_2, 0) + coalesce(t.behind_2, 0)))
                           / nullif(CASE WHEN t.cosine IS NULL THEN 0 ELSE 1 END
                               + CASE WHEN t.before IS NULL THEN 0 ELSE 0.75::float8 END
                               + CASE WHEN t.behind IS NULL THEN 0 ELSE 0.75::float8 END
                               + CASE WHEN t.before_2 IS NULL THEN 0 ELSE 0.5::float8 END
                               + CASE WHEN t.behind_2 IS NULL THEN 0 ELSE 0.5::float8 END, 0) END AS around_cosine,
                       w.share AS around_share,
                       s.fit AS session_fit,
                       CASE WHEN k.spoken THEN 1::float8
                            WHEN k.mentions > 0 THEN 0.5::float8 * k.mentions
                                / (SELECT nullif(count(DISTINCT token), 0) FROM marks
                                   WHERE token = ANY(%(names)s::bigint[]))
                       END AS entity,
                       CASE WHEN isempty(%(spans)s::tstzmultirange) THEN NULL
                            WHEN %(spans)s::tstzmultirange @> coalesce(e.valid_from, e.create_time) THEN 1::float8
                            WHEN %(spans)s::tstzmultirange @> e.create_time THEN 0.5::float8 END AS named_time,
                       k.slot_named,
                       CASE WHEN e.turn THEN coalesce(k.answers, 0::float8) ELSE 0::float8 END AS answers,
                       CASE WHEN e.turn THEN least(1::float8, e.term_count / 40::float8) ELSE 0::float8 END
                           AS length,
                       e.turn AND coalesce(k.asks, false) AS asks,
                       CASE WHEN NOT coalesce(t.asked, false) THEN 0::float8
                            WHEN t.before IS NULL THEN sign(%(around_lexical)s::float8)
                                * coalesce(t.said_before / (SELECT best_said FROM reach), 0)
                            ELSE %(around_vector)s::float8 * greatest(0::float8, least(1::float8,
                                     (t.before - %(cosine_low)s::float8)
                                     / (%(cosine_high)s::float8 - %(cosine_low)s::float8)))
                                 + %(around_lexical)s::float8
                                     * coalesce(t.said_before / (SELECT best_said FROM reach), 0)
                       END AS replied,
                       -- Numbers that the service never stores count like an ordinary one: the seal is what
                       -- judges them.
                       coalesce((%(kind_factors)s::float8[])[e.kind], 1) AS kind_factor,
                       coalesce((%(trust_factors)s::float8[])[e.trust], 1) AS trust_factor,
                       coalesce((%(source_factors)s::float8[])[e.source_type], 1) AS source_factor,
                       1 - %(confidence_weight)s::float8
                           * (1 - greatest(0::float8, least(1::float8, coalesce(e.confidence, 1)))) AS confidence_factor,
                       -- In whole days, so that the same question has the same answer for a while.
                       1 - %(recency_weight)s::float8 * (1 - power(2::float8, - least(1000::float8,
                           greatest(0::float8, floor(e.seconds / 86400))
                           / coalesce((%(half_lives)s::float8[])[e.kind], 1)))) AS recency_factor,
                       1 + %(feedback_weight)s::float8 * coalesce(b.felt, 0::float8) AS feedback_factor
                FROM (SELECT *, CASE WHEN isfinite(coalesce(reinforce_time, least(valid_from, create_time)))
                                     THEN date_part('epoch', %(now)s::timestamptz
                                                    - coalesce(reinforce_time, least(valid_from, create_time)))
                                     ELSE 0 END AS seconds
                      FROM eligible) e
                LEFT JOIN vector_leg v ON v.doc_no = e.doc_no AND v.content_revision = e.content_revision
                LEFT JOIN lexical_leg l ON l.doc_no = e.doc_no
                LEFT JOIN marked k ON k.doc_no = e.doc_no
                LEFT JOIN turns t ON t.doc_no = e.doc_no
                LEFT JOIN around_words w ON w.doc_no = e.doc_no
                LEFT JOIN session_leg s ON s.sitting = t.sitting
                LEFT JOIN feedback b ON b.doc_no = e.doc_no AND b.content_revision = e.content_revision
                OFFSET 0
            ) m
            OFFSET 0
        ) i
        OFFSET 0
    ) j
), vector_order AS (
    SELECT doc_no, row_number() OVER (ORDER BY cosine DESC, memory_id) AS place
    FROM (SELECT doc_no, cosine, memory_id FROM weighed WHERE cosine IS NOT NULL AND %(vector_ranks)s::boolean
          ORDER BY cosine DESC, memory_id LIMIT %(rank_depth)s) first
), lexical_order AS (
    SELECT doc_no, row_number() OVER (ORDER BY bm25 DESC, memory_id) AS place
    FROM (SELECT doc_no, bm25, memory_id FROM weighed WHERE bm25 IS NOT NULL AND %(lexical_ranks)s::boolean
          ORDER BY bm25 DESC, memory_id LIMIT %(rank_depth)s) first
), around_order AS (
    SELECT doc_no, row_number() OVER (ORDER BY around DESC, memory_id) AS place
    FROM (SELECT doc_no, around, memory_id FROM weighed
          WHERE (SELECT turns FROM company) AND around > 0 AND around_weight > 0
          ORDER BY around DESC, memory_id LIMIT %(rank_depth)s) first
), session_order AS (
    SELECT doc_no, rank() OVER (ORDER BY session_fit DESC) AS place
    FROM (SELECT doc_no, session_fit, memory_id FROM weighed
          WHERE (SELECT turns FROM company) AND session_part > 0
          ORDER BY session_fit DESC, memory_id LIMIT %(rank_depth)s) first
), entity_order AS (
    SELECT doc_no, rank() OVER (ORDER BY entity DESC) AS place FROM weighed
    WHERE EXISTS (SELECT FROM marks) AND entity_part > 0
), time_order AS (
    SELECT doc_no, rank() OVER (ORDER BY named_time DESC) AS place FROM weighed
    WHERE NOT isempty(%(spans)s::tstzmultirange) AND time_part > 0
), slot_order AS (
    SELECT doc_no, rank() OVER (ORDER BY slot_part DESC) AS place FROM weighed WHERE slot_part > 0
), fusion AS (
    SELECT doc_no, coalesce(max(part) FILTER (WHERE leg = 1), 0) + coalesce(max(part) FILTER (WHERE leg = 2), 0)
                   + coalesce(max(part) FILTER (WHERE leg = 3), 0) + coalesce(max(part) FILTER (WHERE leg = 4), 0)
                   + coalesce(max(part) FILTER (WHERE leg = 5), 0) + coalesce(max(part) FILTER (WHERE leg = 6), 0)
                   + coalesce(max(part) FILTER (WHERE leg = 7), 0) AS total
    FROM (SELECT doc_no, leg, 1 / (60::float8 + place) AS part
          FROM (SELECT 1 AS leg, doc_no, place FROM vector_order
                UNION ALL SELECT 2, doc_no, place FROM lexical_order
                UNION ALL SELECT 3, doc_no, place FROM around_order
                UNION ALL SELECT 4, doc_no, place FROM session_order
                UNION ALL SELECT 5, doc_no, place FROM entity_order
                UNION ALL SELECT 6, doc_no, place FROM time_order
                UNION ALL SELECT 7, doc_no, place FROM slot_order) ranks
          WHERE %(reciprocal)s::boolean) parts
    GROUP BY doc_no
), scored AS MATERIALIZED (
    SELECT doc_no, memory_id, pinned, score,
           (score >= %(min_score)s::float8 AND evidence >= %(min_score)s::float8
            AND (score > 0 OR compared)) OR (%(reciprocal)s::boolean AND score > 0) AS relevant
    FROM (
        SELECT w.doc_no, w.memory_id, w.pinned, w.evidence, w.cosine IS NOT NULL AS compared,
               CASE WHEN %(reciprocal)s::boolean THEN coalesce(f.total, 0) * 61 / %(leg_count)s::float8
                    ELSE w.sum END AS score
        FROM weighed w
        LEFT JOIN fusion f ON f.doc_no = w.doc_no
    ) s
), ahead AS MATERIALIZED (
    SELECT doc_no, memory_id, score FROM scored WHERE relevant
    ORDER BY score DESC, memory_id LIMIT %(fetch)s
), crowd AS MATERIALIZED (
    -- Whether so many of the first are of sources with too many there that too few are left (the rule is that of
    -- application/choosing.py). Then what comes behind them is found as well.
    SELECT count(*) = %(fetch)s AND count(*) FILTER (WHERE place <= %(source_most)s) < %(limit)s AS crowded
    FROM (SELECT CASE WHEN m.source IS NULL THEN 0
                 ELSE row_number() OVER (PARTITION BY m.source ORDER BY a.score DESC, a.memory_id) END AS place
          FROM ahead a
          JOIN (SELECT memory_id, CASE WHEN trust >= 4 OR (trust = 3 AND kind = 7) THEN NULL
                                       WHEN source_ref <> '' THEN 'ref ' || source_ref
                                       WHEN trust < 3 THEN 'author ' || author END AS source
                FROM memory
                WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(ARRAY(SELECT memory_id FROM ahead))
                      AND %(limit)s::integer > 0) m ON m.memory_id = a.memory_id) places
), behind AS MATERIALIZED (
    SELECT doc_no, memory_id, score, source IS NOT NULL AND place > %(source_most)s AS too_many
    FROM (SELECT s.doc_no, s.memory_id, s.score, m.source,
                 row_number() OVER (PARTITION BY m.source ORDER BY s.score DESC, s.memory_id) AS place
          FROM scored s
          JOIN (SELECT memory_id, CASE WHEN trust >= 4 OR (trust = 3 AND kind = 7) THEN NULL
                                       WHEN source_ref <> '' THEN 'ref ' || source_ref
                                       WHEN trust < 3 THEN 'author ' || author END AS source
                FROM memory
                WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND (SELECT crowded FROM crowd)
                ) m ON m.memory_id = s.memory_id
          WHERE s.relevant AND (SELECT crowded FROM crowd)) places
), best AS MATERIALIZED (
    SELECT doc_no, memory_id, score, true AS found
    FROM (SELECT * FROM ahead
          UNION (SELECT doc_no, memory_id, score FROM behind WHERE NOT too_many
                 ORDER BY score DESC, memory_id LIMIT %(fetch)s)
          UNION (SELECT doc_no, memory_id, score FROM behind WHERE too_many
                 ORDER BY score DESC, memory_id LIMIT %(fetch)s)) found
    UNION ALL
    (SELECT doc_no, memory_id, score, false AS found FROM scored
     WHERE pinned AND relevant IS NOT TRUE
     ORDER BY score DESC, memory_id LIMIT %(pinned_most)s)
), explained AS MATERIALIZED (
    SELECT b.found, b.score, w.*, v.place AS vector_rank, l.place AS lexical_rank, a.place AS around_rank,
           s.place AS session_rank, e.place AS entity_rank, t.place AS time_rank, o.place AS slot_rank
    FROM weighed w
    JOIN best b ON b.memory_id = w.memory_id
    LEFT JOIN vector_order v ON v.doc_no = w.doc_no
    LEFT JOIN lexical_order l ON l.doc_no = w.doc_no
    LEFT JOIN around_order a ON a.doc_no = w.doc_no
    LEFT JOIN session_order s ON s.doc_no = w.doc_no
    LEFT JOIN entity_order e ON e.doc_no = w.doc_no
    LEFT JOIN time_order t ON t.doc_no = w.doc_no
    LEFT JOIN slot_order o ON o.doc_no = w.doc_no
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
       (SELECT count(*) FROM scored WHERE scored.relevant) AS relevant,
       (SELECT count(*) FROM scored WHERE scored.relevant) >= %(fetch)s  --@recall_large
           AND (%(embedding)s::halfvec IS NULL  --@recall_large
                OR (SELECT count(*) FROM near n JOIN eligible e ON e.doc_no = n.doc_no) >= %(least_near)s  --@recall_large
           ) AS enough,  --@recall_large
       r.found, r.score, r.cosine, r.relevance, r.vector_rank, r.bm25, r.lexical_share, r.lexical_rank,
       r.own, r.own_weight, r.around, r.around_weight, r.around_rank,
       r.session_fit, r.session_part, r.session_rank, r.entity, r.entity_part, r.entity_rank,
       r.named_time, r.time_part, r.time_rank, r.slot_named, r.slot_part, r.slot_rank,
       r.length, r.answers, r.asks, r.replied,
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
       m.*
FROM tally t
LEFT JOIN explained r ON true
LEFT JOIN (
    SELECT * FROM memory
    WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(ARRAY(SELECT memory_id FROM best))
) m ON m.memory_id = r.memory_id
ORDER BY r.score DESC NULLS LAST, r.memory_id
