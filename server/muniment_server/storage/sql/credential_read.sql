-- The credential of an API key. Row-level security shows the one whose id is set, nothing else.
SELECT credential_id, public_id, secret_digest, label, tenant_ids, tenant_names, permissions, source_types,
       max_trust, subject, agent, create_time, expire_time, revoke_time, seal
FROM credential
WHERE public_id = %(public_id)s
