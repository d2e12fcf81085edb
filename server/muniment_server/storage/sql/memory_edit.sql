-- Gives a memory another text: a new one, or that of an earlier revision. Its labels follow with its new state.
UPDATE memory SET
    content_revision = %(content_revision)s, statement_hash = %(statement_hash)s, tokens = %(tokens)s,
    term_count = %(term_count)s, analyzer = %(analyzer)s, content_ct = %(content_ct)s
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s
