-- API keys that may act for a tenant.
SELECT credential_id, public_id, secret_digest, label, tenant_ids, tenant_names, permissions, source_types,
       max_trust, subject, agent, create_time, expire_time, revoke_time, seal
FROM credential
WHERE %(tenant_id)s = ANY(tenant_ids)
ORDER BY credential_id
