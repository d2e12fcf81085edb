-- Notes which rule sent a memory to the reviewers.
INSERT INTO review (tenant_id, memory_id, rule, seal)
VALUES (%(tenant_id)s, %(memory_id)s, %(rule)s, %(seal)s)
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET rule = excluded.rule, seal = excluded.seal
