-- Notes a turn; one that is looked at again belongs to the newer ingest.
INSERT INTO ingest_turn (tenant_id, conversation_id, turn_number, scope_id, ingest_id, memory_id, digest)
VALUES (
    %(tenant_id)s, %(conversation_id)s, %(turn_number)s, %(scope_id)s, %(ingest_id)s, %(memory_id)s, %(digest)s
)
ON CONFLICT (tenant_id, conversation_id, turn_number) DO UPDATE SET ingest_id = excluded.ingest_id
