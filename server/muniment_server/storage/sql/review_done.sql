-- Forgets why a memory waited, when somebody decided.
DELETE FROM review
WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(memory_ids)s::uuid[])
