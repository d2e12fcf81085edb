-- Which rule sent a memory to the reviewers.
SELECT rule, seal
FROM review
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s
