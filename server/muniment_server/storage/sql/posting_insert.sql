-- Indexes the tokens of live memories.
INSERT INTO posting (tenant_id, scope_no, token, doc_no, tf, doc_terms)
SELECT %(tenant_id)s, %(scope_no)s, p.token, p.doc_no, p.tf, p.doc_terms
FROM unnest(%(tokens)s::bigint[], %(doc_nos)s::integer[], %(tfs)s::smallint[], %(doc_terms)s::integer[])
     AS p (token, doc_no, tf, doc_terms)
