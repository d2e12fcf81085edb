-- Gives a memory the terms of another version of the analysis.
UPDATE memory SET
    analyzer = %(analyzer)s, term_count = %(term_count)s, tokens = %(tokens)s, seal = %(seal)s
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s
