-- Records an ingest.
INSERT INTO ingest (
    tenant_id, ingest_id, scope_id, conversation_id, key_epoch, state, attempts, body_ct, create_time, end_time
) VALUES (
    %(tenant_id)s, %(ingest_id)s, %(scope_id)s, %(conversation_id)s, %(key_epoch)s, %(state)s, 0, %(body_ct)s,
    %(now)s, %(end_time)s
)
