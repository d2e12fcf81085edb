-- Stores the new statistics, set digest, consent and seal of a locked scope.
UPDATE scope SET
    scope_no = %(scope_no)s, kind = %(kind)s, label_ct = %(label_ct)s, key_epoch = %(key_epoch)s,
    generation = %(generation)s,
    live_count = %(live_count)s, live_terms = %(live_terms)s, next_doc = %(next_doc)s,
    set_count = %(set_count)s, set_digest = %(set_digest)s, seal = %(seal)s,
    consent = %(consent)s, update_time = %(now)s
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
