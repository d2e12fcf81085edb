-- The index entries of a scope, document by document.
SELECT doc_no, array_agg(token ORDER BY token) AS tokens, array_agg(tf ORDER BY token) AS tfs,
       min(doc_terms) AS least_terms, max(doc_terms) AS most_terms
FROM posting
WHERE tenant_id = %(tenant_id)s AND scope_no = %(scope_no)s AND doc_no > %(after)s AND doc_no <= %(last)s
GROUP BY doc_no
