-- Turns of a conversation that were taken in before, and how far their ingests have come.
SELECT t.turn_number, t.ingest_id, t.memory_id, t.digest, i.state
FROM ingest_turn t
LEFT JOIN ingest i ON i.tenant_id = %(tenant_id)s AND i.ingest_id = t.ingest_id
WHERE t.tenant_id = %(tenant_id)s AND t.conversation_id = %(conversation_id)s
      AND t.turn_number = ANY(%(turn_numbers)s::bigint[])
ORDER BY t.turn_number
