-- Completes an erasure.
UPDATE erasure SET state = %(state)s, receipt = %(receipt)s, signature = %(signature)s,
    complete_time = %(complete_time)s
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
