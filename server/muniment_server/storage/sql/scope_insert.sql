-- Creates a scope unless somebody else just did.
INSERT INTO scope (
    tenant_id, scope_id, scope_no, kind, label_ct, key_epoch, generation, live_count, live_terms, next_doc,
    set_count, set_digest, seal, consent, create_time, update_time
) VALUES (
    %(tenant_id)s, %(scope_id)s, %(scope_no)s, %(kind)s, %(label_ct)s, %(key_epoch)s, %(generation)s,
    %(live_count)s, %(live_terms)s, %(next_doc)s, %(set_count)s, %(set_digest)s, %(seal)s, %(consent)s, %(now)s, %(now)s
)
ON CONFLICT DO NOTHING
