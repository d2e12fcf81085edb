-- Locks scopes for writing, in the order of their ids.
SELECT scope_id, scope_no, kind, label_ct, key_epoch, generation, live_count, live_terms, next_doc, set_count, set_digest, seal,
       consent
FROM scope
WHERE tenant_id = %(tenant_id)s AND scope_id = ANY(%(scope_ids)s::uuid[])
ORDER BY scope_id
FOR UPDATE
