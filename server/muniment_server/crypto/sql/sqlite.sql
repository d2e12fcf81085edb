-- The key store in a SQLite file. Each block is one statement (the first: several), named by its line.

-- name: tables
CREATE TABLE wrapped_key (
    row_no INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    tenant_id BLOB NOT NULL,
    item_id BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    master_id TEXT NOT NULL,
    create_time INTEGER NOT NULL,
    padding BLOB NOT NULL,
    wrapped BLOB NOT NULL,
    UNIQUE (kind, tenant_id, item_id, epoch)
);
CREATE INDEX wrapped_key_master_idx ON wrapped_key (master_id);
CREATE TABLE retired_master (
    master_id TEXT NOT NULL PRIMARY KEY,
    create_time INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE scope_destroyed (
    tenant_id BLOB NOT NULL,
    scope_id BLOB NOT NULL,
    through_epoch INTEGER NOT NULL,
    update_time INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, scope_id)
) WITHOUT ROWID;
CREATE TABLE signing_key (
    key_id TEXT NOT NULL PRIMARY KEY,
    public_key BLOB NOT NULL,
    tenant_id BLOB NOT NULL,
    item_id BLOB NOT NULL,
    current INTEGER NOT NULL,
    create_time INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX signing_key_current_key ON signing_key (current) WHERE current = 1;
CREATE TABLE head (
    tenant_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    key BLOB NOT NULL,
    position INTEGER NOT NULL,
    digest BLOB NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, kind, key)
) WITHOUT ROWID

-- name: key_read
SELECT master_id, wrapped FROM wrapped_key
WHERE kind = :kind AND tenant_id = :tenant_id AND item_id = :item_id AND epoch = :epoch

-- name: key_add
INSERT INTO wrapped_key (kind, tenant_id, item_id, epoch, master_id, create_time, padding, wrapped)
VALUES (:kind, :tenant_id, :item_id, :epoch, :master_id, :now, zeroblob(:padding), :wrapped)
ON CONFLICT DO NOTHING

-- name: key_delete
DELETE FROM wrapped_key
WHERE kind = :kind AND tenant_id = :tenant_id AND item_id = :item_id AND epoch = :epoch

-- name: key_newest
SELECT epoch, master_id, wrapped FROM wrapped_key
WHERE kind = :kind AND tenant_id = :tenant_id AND item_id = :item_id
ORDER BY epoch DESC LIMIT 1

-- name: keys_delete_through
DELETE FROM wrapped_key
WHERE kind = :kind AND tenant_id = :tenant_id AND item_id = :item_id AND epoch <= :epoch

-- name: keys_not_wrapped_by
SELECT kind, tenant_id, item_id, epoch, master_id, wrapped FROM wrapped_key
WHERE master_id <> :master_id
ORDER BY row_no LIMIT :limit

-- name: key_rewrap
UPDATE wrapped_key SET master_id = :master_id, wrapped = :wrapped
WHERE kind = :kind AND tenant_id = :tenant_id AND item_id = :item_id AND epoch = :epoch AND wrapped = :old

-- name: keys_by_master
SELECT master_id, count(*) FROM wrapped_key GROUP BY master_id ORDER BY master_id

-- name: master_count
SELECT count(*) FROM wrapped_key WHERE master_id = :master_id

-- name: master_retire
INSERT INTO retired_master (master_id, create_time) VALUES (:master_id, :now) ON CONFLICT DO NOTHING

-- name: master_retired
SELECT 1 FROM retired_master WHERE master_id = :master_id

-- name: destroyed_read
SELECT through_epoch FROM scope_destroyed WHERE tenant_id = :tenant_id AND scope_id = :scope_id

-- name: destroyed_put
INSERT INTO scope_destroyed (tenant_id, scope_id, through_epoch, update_time)
VALUES (:tenant_id, :item_id, :epoch, :now)
ON CONFLICT (tenant_id, scope_id) DO UPDATE
SET through_epoch = excluded.through_epoch, update_time = excluded.update_time
WHERE excluded.through_epoch > scope_destroyed.through_epoch

-- name: signing_current
SELECT key_id, public_key, tenant_id, item_id FROM signing_key WHERE current = 1

-- name: signing_retire
UPDATE signing_key SET current = 0 WHERE key_id = :key_id

-- name: signing_add
INSERT INTO signing_key (key_id, public_key, tenant_id, item_id, current, create_time)
VALUES (:key_id, :public_key, :tenant_id, :item_id, 1, :now)

-- name: signing_public
SELECT key_id, public_key FROM signing_key ORDER BY create_time, key_id

-- name: head_put
INSERT INTO head (tenant_id, kind, key, position, digest, time)
VALUES (:tenant_id, :kind, :key, :position, :digest, :time)
ON CONFLICT (tenant_id, kind, key) DO UPDATE
SET position = excluded.position, digest = excluded.digest, time = excluded.time
WHERE excluded.position > head.position

-- name: head_read
SELECT tenant_id, kind, key, position, digest, time FROM head
WHERE tenant_id = :tenant_id AND kind = :kind AND key = :key

-- name: heads_read
SELECT tenant_id, kind, key, position, digest, time FROM head
WHERE :tenant_id IS NULL OR tenant_id = :tenant_id
ORDER BY tenant_id, kind, key

-- name: heads_delete
DELETE FROM head WHERE :tenant_id IS NULL OR tenant_id = :tenant_id
