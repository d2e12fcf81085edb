-- One erasure.
SELECT erasure_id, state, target, scope_id, key_epoch, receipt, signature, create_time, complete_time
FROM erasure
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
