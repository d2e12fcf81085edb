-- Makes a new state of a memory current. The text never changes here.
UPDATE memory SET
    revision = %(revision)s, state = %(state)s, trust = %(trust)s, source_type = %(source_type)s,
    reinforce_count = %(reinforce_count)s, confidence = %(confidence)s, update_time = %(update_time)s,
    expire_time = %(expire_time)s, valid_to = %(valid_to)s, reinforce_time = %(reinforce_time)s,
    supersedes = %(supersedes)s, superseded_by = %(superseded_by)s, origin_session = %(origin_session)s,
    turn_number = %(turn_number)s, author = %(author)s, author_agent = %(author_agent)s,
    source_ref = %(source_ref)s, seal = %(seal)s
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s
