-- The key store in PostgreSQL. Each block is one statement (the first: several), named by its line.

-- name: tables
CREATE SCHEMA IF NOT EXISTS muniment_keys;
CREATE TABLE IF NOT EXISTS muniment_keys.version (
    version integer NOT NULL,
    CONSTRAINT version_pkey PRIMARY KEY (version)
);
CREATE TABLE IF NOT EXISTS muniment_keys.wrapped_key (
    kind text NOT NULL,
    tenant_id uuid NOT NULL,
    item_id uuid NOT NULL,
    epoch bigint NOT NULL,
    master_id text NOT NULL,
    wrapped bytea NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT wrapped_key_pkey PRIMARY KEY (kind, tenant_id, item_id, epoch)
);
CREATE INDEX IF NOT EXISTS wrapped_key_master_idx ON muniment_keys.wrapped_key (master_id);
CREATE TABLE IF NOT EXISTS muniment_keys.retired_master (
    master_id text NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT retired_master_pkey PRIMARY KEY (master_id)
);
CREATE TABLE IF NOT EXISTS muniment_keys.scope_destroyed (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    through_epoch bigint NOT NULL,
    update_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT scope_destroyed_pkey PRIMARY KEY (tenant_id, scope_id)
);
CREATE TABLE IF NOT EXISTS muniment_keys.signing_key (
    key_id text NOT NULL,
    public_key bytea NOT NULL,
    tenant_id uuid NOT NULL,
    item_id uuid NOT NULL,
    current boolean NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT signing_key_pkey PRIMARY KEY (key_id)
);
CREATE UNIQUE INDEX IF NOT EXISTS signing_key_current_key ON muniment_keys.signing_key (current)
    WHERE current;
CREATE TABLE IF NOT EXISTS muniment_keys.head (
    tenant_id uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key uuid NOT NULL,
    position bigint NOT NULL,
    digest bytea NOT NULL,
    time timestamptz NOT NULL,
    CONSTRAINT head_pkey PRIMARY KEY (tenant_id, kind, key)
)

-- name: tables_exist
SELECT to_regclass('muniment_keys.head') IS NOT NULL

-- name: version_put
INSERT INTO muniment_keys.version VALUES (%(version)s) ON CONFLICT DO NOTHING

-- name: version_read
SELECT max(version) FROM muniment_keys.version

-- name: lock
SELECT pg_advisory_xact_lock(%(subject)s, %(number)s)

-- name: lock_shared
SELECT pg_advisory_xact_lock_shared(%(subject)s, %(number)s)

-- name: key_read
SELECT master_id, wrapped FROM muniment_keys.wrapped_key
WHERE kind = %(kind)s AND tenant_id = %(tenant_id)s AND item_id = %(item_id)s AND epoch = %(epoch)s

-- name: key_add
INSERT INTO muniment_keys.wrapped_key (kind, tenant_id, item_id, epoch, master_id, wrapped)
VALUES (%(kind)s, %(tenant_id)s, %(item_id)s, %(epoch)s, %(master_id)s, %(wrapped)s)
ON CONFLICT DO NOTHING

-- name: key_delete
DELETE FROM muniment_keys.wrapped_key
WHERE kind = %(kind)s AND tenant_id = %(tenant_id)s AND item_id = %(item_id)s AND epoch = %(epoch)s

-- name: key_newest
SELECT epoch, master_id, wrapped FROM muniment_keys.wrapped_key
WHERE kind = %(kind)s AND tenant_id = %(tenant_id)s AND item_id = %(item_id)s
ORDER BY epoch DESC LIMIT 1

-- name: keys_delete_through
DELETE FROM muniment_keys.wrapped_key
WHERE kind = %(kind)s AND tenant_id = %(tenant_id)s AND item_id = %(item_id)s AND epoch <= %(epoch)s

-- name: keys_not_wrapped_by
SELECT kind, tenant_id, item_id, epoch, master_id, wrapped FROM muniment_keys.wrapped_key
WHERE master_id <> %(master_id)s
ORDER BY kind, tenant_id, item_id, epoch LIMIT %(limit)s

-- name: key_rewrap
UPDATE muniment_keys.wrapped_key SET master_id = %(master_id)s, wrapped = %(wrapped)s
WHERE kind = %(kind)s AND tenant_id = %(tenant_id)s AND item_id = %(item_id)s AND epoch = %(epoch)s
  AND wrapped = %(old)s

-- name: keys_by_master
SELECT master_id, count(*) FROM muniment_keys.wrapped_key GROUP BY master_id ORDER BY master_id

-- name: master_count
SELECT count(*) FROM muniment_keys.wrapped_key WHERE master_id = %(master_id)s

-- name: master_retire
INSERT INTO muniment_keys.retired_master (master_id) VALUES (%(master_id)s) ON CONFLICT DO NOTHING

-- name: master_retired
SELECT 1 FROM muniment_keys.retired_master WHERE master_id = %(master_id)s

-- name: destroyed_read
SELECT through_epoch FROM muniment_keys.scope_destroyed
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s

-- name: destroyed_put
INSERT INTO muniment_keys.scope_destroyed AS old (tenant_id, scope_id, through_epoch)
VALUES (%(tenant_id)s, %(item_id)s, %(epoch)s)
ON CONFLICT (tenant_id, scope_id) DO UPDATE
SET through_epoch = excluded.through_epoch, update_time = excluded.update_time
WHERE excluded.through_epoch > old.through_epoch

-- name: signing_current
SELECT key_id, public_key, tenant_id, item_id FROM muniment_keys.signing_key WHERE current

-- name: signing_retire
UPDATE muniment_keys.signing_key SET current = false WHERE key_id = %(key_id)s

-- name: signing_add
INSERT INTO muniment_keys.signing_key (key_id, public_key, tenant_id, item_id, current)
VALUES (%(key_id)s, %(public_key)s, %(tenant_id)s, %(item_id)s, true)

-- name: signing_public
SELECT key_id, public_key FROM muniment_keys.signing_key ORDER BY create_time, key_id

-- name: heads_lock
LOCK TABLE muniment_keys.head IN SHARE ROW EXCLUSIVE MODE

-- name: heads_put
INSERT INTO muniment_keys.head AS old (tenant_id, kind, key, position, digest, time)
SELECT new.tenant_id, new.kind, new.key, new.position, new.digest, new.time
FROM unnest(%(tenant_ids)s::uuid[], %(kinds)s::text[], %(keys)s::uuid[], %(positions)s::bigint[],
            %(digests)s::bytea[], %(times)s::timestamptz[])
    AS new (tenant_id, kind, key, position, digest, time)
-- Two writers take their rows in one order and never wait for each other in a circle.
ORDER BY new.tenant_id, new.kind COLLATE "C", new.key
ON CONFLICT (tenant_id, kind, key) DO UPDATE
SET position = excluded.position, digest = excluded.digest, time = excluded.time
WHERE excluded.position > old.position

-- name: heads_refused
SELECT old.tenant_id, old.kind, old.key, old.position, old.digest, old.time
FROM muniment_keys.head AS old
JOIN unnest(%(tenant_ids)s::uuid[], %(kinds)s::text[], %(keys)s::uuid[], %(positions)s::bigint[],
            %(digests)s::bytea[]) AS new (tenant_id, kind, key, position, digest)
    ON old.tenant_id = new.tenant_id AND old.kind = new.kind AND old.key = new.key
WHERE (old.position, old.digest) <> (new.position, new.digest)
ORDER BY old.tenant_id, old.kind, old.key

-- name: heads_read
SELECT tenant_id, kind, key, position, digest, time FROM muniment_keys.head
WHERE %(tenant_id)s::uuid IS NULL OR tenant_id = %(tenant_id)s
ORDER BY tenant_id, kind, key

-- name: heads_delete
DELETE FROM muniment_keys.head WHERE %(tenant_id)s::uuid IS NULL OR tenant_id = %(tenant_id)s
