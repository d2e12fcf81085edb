-- How many earlier revisions a memory has before the given one.
SELECT count(*) AS revisions
FROM memory_revision
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s AND revision < %(before)s::bigint
