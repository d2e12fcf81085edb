-- Seals of who may do what, under keys of the key store: whoever can only write to the database can neither make
-- an API key nor change one, nor exchange the names of tenants. NULL: of a version before, or made by nobody of
-- ours.
ALTER TABLE credential ADD COLUMN seal bytea;
ALTER TABLE tenant ADD COLUMN seal bytea;

-- `muniment verify` looks at them, and at what is queued.
CREATE POLICY read_all ON credential FOR SELECT TO muniment_maintenance USING (true);
GRANT SELECT ON credential, ingest, ingest_session TO muniment_maintenance;
