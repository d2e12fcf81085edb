-- Counts one reported outcome for memories of a scope; of a text that was replaced nothing is kept.
INSERT INTO memory_feedback
    (tenant_id, scope_id, doc_no, actor, content_revision, helpful, neutral, harmful)
SELECT %(tenant_id)s, %(scope_id)s, u.doc_no, %(actor)s, u.content_revision,
       %(helpful)s::integer, %(neutral)s::integer, %(harmful)s::integer
FROM unnest(%(doc_nos)s::integer[], %(content_revisions)s::integer[]) AS u (doc_no, content_revision)
ON CONFLICT (tenant_id, scope_id, doc_no, actor) DO UPDATE
SET content_revision = EXCLUDED.content_revision,
    helpful = CASE WHEN memory_feedback.content_revision <> EXCLUDED.content_revision THEN EXCLUDED.helpful
                   WHEN memory_feedback.helpful < %(most)s THEN memory_feedback.helpful + EXCLUDED.helpful
                   ELSE memory_feedback.helpful END,
    neutral = CASE WHEN memory_feedback.content_revision <> EXCLUDED.content_revision THEN EXCLUDED.neutral
                   WHEN memory_feedback.neutral < %(most)s THEN memory_feedback.neutral + EXCLUDED.neutral
                   ELSE memory_feedback.neutral END,
    harmful = CASE WHEN memory_feedback.content_revision <> EXCLUDED.content_revision THEN EXCLUDED.harmful
                   WHEN memory_feedback.harmful < %(most)s THEN memory_feedback.harmful + EXCLUDED.harmful
                   ELSE memory_feedback.harmful END
