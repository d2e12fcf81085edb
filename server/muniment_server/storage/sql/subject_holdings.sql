-- What is stored in a scope, by kind and source: how many, from when to when, and until when.
SELECT kind, source_type, count(*) AS memories, min(create_time) AS oldest, max(create_time) AS newest,
       count(expire_time) AS expiring, max(expire_time) AS last_expire
FROM memory
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
      AND (%(bound_agent)s::text IS NULL OR agent IS NULL OR agent = %(bound_agent)s)
      AND (%(kinds)s::smallint[] IS NULL OR kind = ANY(%(kinds)s::smallint[]))
      AND (%(source_types)s::smallint[] IS NULL OR source_type = ANY(%(source_types)s::smallint[]))
      AND trust >= %(min_trust)s
      AND (%(view_tags)s::text[] IS NULL OR tags && %(view_tags)s::text[])
GROUP BY kind, source_type
ORDER BY kind, source_type
