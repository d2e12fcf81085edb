-- Records an erasure with its receipt.
INSERT INTO erasure (tenant_id, erasure_id, state, target, scope_id, key_epoch, receipt, signature, create_time, complete_time)
VALUES (%(tenant_id)s, %(erasure_id)s, %(state)s, %(target)s, %(scope_id)s, %(key_epoch)s, %(receipt)s, %(signature)s, %(create_time)s,
        %(complete_time)s)
