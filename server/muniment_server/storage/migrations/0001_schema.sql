-- First schema. Runs as muniment_owner inside one transaction.
--
-- Rules that every table obeys (tests/storage/test_catalogue.py reads them from the catalogues):
-- the tenant stands first in every key, unique constraint, foreign key and index of a tenant table;
-- row-level security is enabled and forced everywhere; a policy is a plain expression on a
-- transaction-local setting, without a sub-select; no triggers, no SET NULL, no integer identity.

-- Global tables ------------------------------------------------------------------------------

CREATE TABLE instance (
    instance_id   uuid        NOT NULL,
    model_no      smallint    NOT NULL,
    restore_epoch integer     NOT NULL DEFAULT 0,
    -- The oldest version of the text analysis whose terms may stand in the index.
    analyzer      smallint    NOT NULL DEFAULT 1,
    create_time   timestamptz NOT NULL,
    CONSTRAINT instance_pkey PRIMARY KEY (instance_id)
);

CREATE TABLE embedding_model (
    model_no    smallint    NOT NULL,
    name        text        NOT NULL,
    digest      text        NOT NULL,
    dimension   integer     NOT NULL,
    -- What MUNIMENT_EMBEDDER has to say for this model.
    setting     text        NOT NULL,
    create_time timestamptz NOT NULL,
    CONSTRAINT embedding_model_pkey PRIMARY KEY (model_no),
    CONSTRAINT embedding_model_identity_key UNIQUE (name, digest, dimension)
);

-- Changes of the embedding model (kind 1) while the service runs; `from_no` and `to_no` are its numbers.
-- state: 1 runs, 2 is filled and waits to be switched, 3 is switched, 4 is aborted. From 1 to 2 every
-- new memory gets a row for both models; `drop_time` is when the vectors nobody uses any more were gone.
CREATE TABLE reindex (
    reindex_id    uuid        NOT NULL,
    kind          smallint    NOT NULL,
    state         smallint    NOT NULL,
    from_no       smallint    NOT NULL,
    to_no         smallint    NOT NULL,
    automatic     boolean     NOT NULL,
    worker        uuid,
    lease_time    timestamptz,
    create_time   timestamptz NOT NULL,
    complete_time timestamptz,
    drop_time     timestamptz,
    CONSTRAINT reindex_pkey PRIMARY KEY (reindex_id)
);
-- At most one change of a kind at a time.
CREATE UNIQUE INDEX reindex_running_idx ON reindex (kind) WHERE state IN (1, 2);

CREATE TABLE tenant (
    tenant_id   uuid        NOT NULL,
    name        text        NOT NULL,
    create_time timestamptz NOT NULL,
    CONSTRAINT tenant_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tenant_name_key UNIQUE (name)
);

CREATE TABLE credential (
    credential_id uuid        NOT NULL,
    public_id     text        NOT NULL,
    secret_digest bytea       NOT NULL,
    label         text        NOT NULL,
    tenant_ids    uuid[]      NOT NULL,
    tenant_names  text[]      NOT NULL,
    permissions   text[]      NOT NULL,
    source_types  smallint[]  NOT NULL,
    max_trust     smallint    NOT NULL,
    subject       text,
    agent         text,
    create_time   timestamptz NOT NULL,
    expire_time   timestamptz,
    revoke_time   timestamptz,
    CONSTRAINT credential_pkey PRIMARY KEY (credential_id),
    CONSTRAINT credential_public_id_key UNIQUE (public_id)
);

-- Tenant tables ------------------------------------------------------------------------------

-- One row per subject or space. It is the lock of its writers, holds the lexical statistics of its
-- live memories and the digest of the set of its seals. It outlives an erasure (with a new key
-- epoch and without its label), so that a writer with a destroyed key is noticed.
CREATE TABLE scope (
    tenant_id   uuid        NOT NULL,
    scope_id    uuid        NOT NULL,
    scope_no    bigint      NOT NULL,
    kind        smallint    NOT NULL,
    label_ct    bytea,
    key_epoch   integer     NOT NULL,
    generation  bigint      NOT NULL,
    live_count  bigint      NOT NULL,
    live_terms  bigint      NOT NULL,
    next_doc    integer     NOT NULL,
    set_count   bigint      NOT NULL,
    set_digest  bytea       NOT NULL,
    seal        bytea       NOT NULL,
    -- What the subject decided about being remembered, covered by the seal; it outlives an erasure too.
    consent     bytea,
    create_time timestamptz NOT NULL,
    update_time timestamptz NOT NULL,
    CONSTRAINT scope_pkey PRIMARY KEY (tenant_id, scope_id),
    CONSTRAINT scope_scope_no_key UNIQUE (tenant_id, scope_no),
    CONSTRAINT scope_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
);

-- The current revision of every memory.
CREATE TABLE memory (
    tenant_id        uuid             NOT NULL,
    memory_id        uuid             NOT NULL,
    scope_id         uuid             NOT NULL,
    doc_no           integer          NOT NULL,
    revision         integer          NOT NULL,
    content_revision integer          NOT NULL,
    key_epoch        integer          NOT NULL,
    state            smallint         NOT NULL,
    kind             smallint         NOT NULL,
    trust            smallint         NOT NULL,
    source_type      smallint         NOT NULL,
    analyzer         smallint         NOT NULL,
    term_count       integer          NOT NULL,
    reinforce_count  integer          NOT NULL,
    confidence       double precision,
    create_time      timestamptz      NOT NULL,
    update_time      timestamptz      NOT NULL,
    expire_time      timestamptz,
    valid_from       timestamptz,
    valid_to         timestamptz,
    reinforce_time   timestamptz,
    supersedes       uuid,
    superseded_by    uuid,
    slot             text,
    agent            text,
    session          text,
    origin_session   text,
    turn_number      bigint,
    author           text             NOT NULL,
    author_agent     text,
    source_ref       text,
    tags             text[]           NOT NULL,
    properties       jsonb            NOT NULL,
    statement_hash   bytea            NOT NULL,
    tokens           bigint[]         NOT NULL,
    content_ct       bytea            NOT NULL,
    seal             bytea            NOT NULL,
    CONSTRAINT memory_pkey PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT memory_doc_no_key UNIQUE (tenant_id, scope_id, doc_no),
    CONSTRAINT memory_scope_fkey FOREIGN KEY (tenant_id, scope_id) REFERENCES scope (tenant_id, scope_id)
);
-- At most one live memory per scope and slot (state 2 is ACTIVE).
CREATE UNIQUE INDEX memory_slot_key ON memory (tenant_id, scope_id, slot, agent, session)
    NULLS NOT DISTINCT WHERE slot IS NOT NULL AND state = 2;
CREATE INDEX memory_statement_idx ON memory (tenant_id, scope_id, statement_hash);
CREATE INDEX memory_origin_session_idx ON memory (tenant_id, scope_id, origin_session)
    WHERE origin_session IS NOT NULL;
CREATE INDEX memory_supersedes_idx ON memory (tenant_id, supersedes) WHERE supersedes IS NOT NULL;
-- What waits for a review (1 is PENDING, 5 is QUARANTINED), in the order in which it came there.
CREATE INDEX memory_review_idx ON memory (tenant_id, update_time, memory_id) WHERE state IN (1, 5);

-- Earlier revisions, each as it was sealed when it was current.
CREATE TABLE memory_revision (
    LIKE memory,
    CONSTRAINT memory_revision_pkey PRIMARY KEY (tenant_id, memory_id, revision),
    CONSTRAINT memory_revision_memory_fkey FOREIGN KEY (tenant_id, memory_id)
        REFERENCES memory (tenant_id, memory_id) ON DELETE CASCADE
);
CREATE INDEX memory_revision_supersedes_idx ON memory_revision (tenant_id, supersedes)
    WHERE supersedes IS NOT NULL;

-- Which rule sent a memory that waits for a person there; gone when somebody decided.
CREATE TABLE review (
    tenant_id uuid  NOT NULL,
    memory_id uuid  NOT NULL,
    rule      text  NOT NULL,
    seal      bytea NOT NULL,
    CONSTRAINT review_pkey PRIMARY KEY (tenant_id, memory_id),
    CONSTRAINT review_memory_fkey FOREIGN KEY (tenant_id, memory_id)
        REFERENCES memory (tenant_id, memory_id) ON DELETE CASCADE
);

-- What is left of an erased memory.
CREATE TABLE tombstone (
    tenant_id   uuid        NOT NULL,
    memory_id   uuid        NOT NULL,
    scope_id    uuid        NOT NULL,
    erasure_id  uuid        NOT NULL,
    erase_time  timestamptz NOT NULL,
    CONSTRAINT tombstone_pkey PRIMARY KEY (tenant_id, memory_id)
);

-- One row for every memory and every model in use, from the write on. state: 1 READY, 2 PENDING (the
-- vector is still to be made), 3 NOT_COVERED (the model cannot read the text), 4 PARTIAL (the vector
-- stands for the beginning of the text). READY and PARTIAL have a vector, the others none.
CREATE TABLE memory_embedding (
    tenant_id        uuid     NOT NULL,
    scope_no         bigint   NOT NULL,
    model_no         smallint NOT NULL,
    doc_no           integer  NOT NULL,
    content_revision integer  NOT NULL,
    state            smallint NOT NULL,
    embedding        halfvec,
    seal             bytea    NOT NULL,
    CONSTRAINT memory_embedding_pkey PRIMARY KEY (tenant_id, scope_no, model_no, doc_no, content_revision),
    CONSTRAINT memory_embedding_scope_fkey FOREIGN KEY (tenant_id, scope_no)
        REFERENCES scope (tenant_id, scope_no)
);
ALTER TABLE memory_embedding ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX memory_embedding_pending_idx ON memory_embedding (tenant_id, model_no, scope_no, doc_no)
    WHERE state = 2;

-- The blind lexical index: keyed hashes of the tokens of ACTIVE memories, and nothing else.
CREATE TABLE posting (
    tenant_id uuid     NOT NULL,
    scope_no  bigint   NOT NULL,
    token     bigint   NOT NULL,
    doc_no    integer  NOT NULL,
    tf        smallint NOT NULL,
    doc_terms integer  NOT NULL,
    CONSTRAINT posting_pkey PRIMARY KEY (tenant_id, scope_no, token, doc_no) INCLUDE (tf, doc_terms)
);

CREATE TABLE idempotency (
    tenant_id      uuid        NOT NULL,
    request_id     uuid        NOT NULL,
    method         text        NOT NULL,
    scope_id       uuid,
    key_epoch      integer,
    memory_ids     uuid[]      NOT NULL,
    payload_digest bytea       NOT NULL,
    response       bytea       NOT NULL,
    create_time    timestamptz NOT NULL,
    -- The audit event of what was done, by which it can be undone.
    event_id       uuid,
    CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, request_id),
    CONSTRAINT idempotency_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
);
CREATE INDEX idempotency_create_time_idx ON idempotency (tenant_id, create_time);
CREATE INDEX idempotency_scope_idx ON idempotency (tenant_id, scope_id) WHERE scope_id IS NOT NULL;

CREATE TABLE erasure (
    tenant_id     uuid        NOT NULL,
    erasure_id    uuid        NOT NULL,
    state         smallint    NOT NULL,
    target        smallint    NOT NULL,
    scope_id      uuid,
    key_epoch     integer,
    receipt       bytea       NOT NULL,
    signature     bytea,
    create_time   timestamptz NOT NULL,
    complete_time timestamptz,
    CONSTRAINT erasure_pkey PRIMARY KEY (tenant_id, erasure_id),
    CONSTRAINT erasure_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
);
CREATE INDEX erasure_pending_idx ON erasure (tenant_id, create_time) WHERE state = 1;

-- What a tenant set for itself and what its agents may see. One mac under the tenant's key covers all
-- rows of both tables, so that none can be changed, taken away or added behind the service's back.
CREATE TABLE tenant_policy (
    tenant_id   uuid        NOT NULL,
    revision    bigint      NOT NULL,
    mac         bytea       NOT NULL,
    update_time timestamptz NOT NULL,
    CONSTRAINT tenant_policy_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tenant_policy_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
);

CREATE TABLE tenant_setting (
    tenant_id   uuid        NOT NULL,
    name        text        NOT NULL,
    value       jsonb       NOT NULL,
    update_time timestamptz NOT NULL,
    CONSTRAINT tenant_setting_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT tenant_setting_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
);

-- `view_ct` is encrypted: it names spaces.
CREATE TABLE agent_view (
    tenant_id   uuid        NOT NULL,
    agent       text        NOT NULL,
    view_ct     text        NOT NULL,
    update_time timestamptz NOT NULL,
    CONSTRAINT agent_view_pkey PRIMARY KEY (tenant_id, agent),
    CONSTRAINT agent_view_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
);

-- Conversations taken in ----------------------------------------------------------------------

-- One row per conversation (a session in a scope, narrowed to one agent or none): what is queued, and the
-- lock under which one worker at a time makes memories of its turns, in their order. `due_time` is NULL
-- while nothing waits. Whoever writes here locks the scope first, then this row, then `ingest`.
CREATE TABLE ingest_session (
    tenant_id       uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    scope_id        uuid        NOT NULL,
    agent           text,
    session         text        NOT NULL,
    due_time        timestamptz,
    lease_time      timestamptz,
    worker          uuid,
    CONSTRAINT ingest_session_pkey PRIMARY KEY (tenant_id, conversation_id),
    CONSTRAINT ingest_session_scope_fkey FOREIGN KEY (tenant_id, scope_id)
        REFERENCES scope (tenant_id, scope_id)
);
CREATE INDEX ingest_session_due_idx ON ingest_session (tenant_id, due_time) WHERE due_time IS NOT NULL;
CREATE INDEX ingest_session_scope_idx ON ingest_session (tenant_id, scope_id);

-- One row per ingest. `body_ct` holds, encrypted with the scope's key and so authenticated: who ingested and
-- what he may do, the turns that are still to be looked at, and what became of the others. state: the
-- contract's IngestState, never RUNNING: that is a lease of the conversation.
CREATE TABLE ingest (
    tenant_id       uuid        NOT NULL,
    ingest_id       uuid        NOT NULL,
    scope_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    key_epoch       integer     NOT NULL,
    state           smallint    NOT NULL,
    attempts        integer     NOT NULL,
    body_ct         bytea       NOT NULL,
    create_time     timestamptz NOT NULL,
    end_time        timestamptz,
    CONSTRAINT ingest_pkey PRIMARY KEY (tenant_id, ingest_id),
    CONSTRAINT ingest_scope_fkey FOREIGN KEY (tenant_id, scope_id) REFERENCES scope (tenant_id, scope_id)
);
CREATE INDEX ingest_waiting_idx ON ingest (tenant_id, conversation_id, ingest_id) WHERE state = 1;
CREATE INDEX ingest_scope_idx ON ingest (tenant_id, scope_id);

-- Which turns a conversation had. `digest` is a MAC over what was said, by whom and where it is kept; it is
-- empty when the turn was erased, so that repeating the ingest does not bring it back.
CREATE TABLE ingest_turn (
    tenant_id       uuid   NOT NULL,
    conversation_id uuid   NOT NULL,
    turn_number     bigint NOT NULL,
    scope_id        uuid   NOT NULL,
    ingest_id       uuid   NOT NULL,
    memory_id       uuid,
    digest          bytea  NOT NULL,
    CONSTRAINT ingest_turn_pkey PRIMARY KEY (tenant_id, conversation_id, turn_number),
    CONSTRAINT ingest_turn_scope_fkey FOREIGN KEY (tenant_id, scope_id)
        REFERENCES scope (tenant_id, scope_id)
);
CREATE INDEX ingest_turn_scope_idx ON ingest_turn (tenant_id, scope_id);
CREATE INDEX ingest_turn_memory_idx ON ingest_turn (tenant_id, memory_id) WHERE memory_id IS NOT NULL;

-- Audit: events are written with the act, chained afterwards in batches ------------------------

CREATE TABLE audit_event (
    tenant_id  uuid        NOT NULL,
    event_id   uuid        NOT NULL,
    event_time timestamptz NOT NULL,
    action     smallint    NOT NULL,
    outcome    smallint    NOT NULL,
    actor      text        NOT NULL,
    scope_id   uuid,
    agent      text,
    session    text,
    trace_id   text,
    recall_id  uuid,
    memory_ids   uuid[]     NOT NULL,
    source_types smallint[] NOT NULL,
    payload    bytea       NOT NULL,
    mac        bytea       NOT NULL,
    CONSTRAINT audit_event_pkey PRIMARY KEY (tenant_id, event_id),
    CONSTRAINT audit_event_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
);
CREATE INDEX audit_event_trace_idx ON audit_event (tenant_id, trace_id, event_id) WHERE trace_id IS NOT NULL;
CREATE INDEX audit_event_recall_idx ON audit_event (tenant_id, recall_id, event_id) WHERE recall_id IS NOT NULL;
CREATE INDEX audit_event_scope_idx ON audit_event (tenant_id, scope_id, event_id) WHERE scope_id IS NOT NULL;

CREATE TABLE audit_queue (
    tenant_id uuid NOT NULL,
    event_id  uuid NOT NULL,
    CONSTRAINT audit_queue_pkey PRIMARY KEY (tenant_id, event_id)
);

CREATE TABLE audit_chain (
    tenant_id uuid   NOT NULL,
    sequence  bigint NOT NULL,
    event_id  uuid   NOT NULL,
    digest    bytea  NOT NULL,
    CONSTRAINT audit_chain_pkey PRIMARY KEY (tenant_id, sequence),
    CONSTRAINT audit_chain_event_key UNIQUE (tenant_id, event_id) INCLUDE (sequence, digest),
    CONSTRAINT audit_chain_event_fkey FOREIGN KEY (tenant_id, event_id)
        REFERENCES audit_event (tenant_id, event_id)
);

CREATE TABLE audit_checkpoint (
    tenant_id   uuid        NOT NULL,
    sequence    bigint      NOT NULL,
    digest      bytea       NOT NULL,
    create_time timestamptz NOT NULL,
    signing_key text        NOT NULL,
    signature   bytea       NOT NULL,
    CONSTRAINT audit_checkpoint_pkey PRIMARY KEY (tenant_id, sequence)
);

-- Which events name a memory; filled when the events are chained.
CREATE TABLE audit_memory (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    event_id  uuid NOT NULL,
    CONSTRAINT audit_memory_pkey PRIMARY KEY (tenant_id, memory_id, event_id)
);

-- The lock that makes one sealer at a time chain a tenant's events.
CREATE TABLE audit_head (
    tenant_id uuid   NOT NULL,
    sequence  bigint NOT NULL,
    digest    bytea  NOT NULL,
    CONSTRAINT audit_head_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT audit_head_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
);

-- Row-level security -------------------------------------------------------------------------

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['scope', 'memory', 'memory_revision', 'review', 'tombstone', 'memory_embedding', 'posting',
        'idempotency', 'erasure', 'audit_event', 'audit_queue', 'audit_chain', 'audit_checkpoint',
        'audit_memory', 'audit_head', 'tenant_policy', 'tenant_setting', 'agent_view',
        'ingest_session', 'ingest', 'ingest_turn']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY tenant_isolation ON %I
            USING (tenant_id = nullif(current_setting(''app.tenant_id'', true), '''')::uuid)
            WITH CHECK (tenant_id = nullif(current_setting(''app.tenant_id'', true), '''')::uuid)', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['instance', 'embedding_model', 'reindex', 'tenant', 'credential']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    END LOOP;
END $$;

-- Global tables: the service reads one tenant or one credential at a time, by a transaction-local
-- setting as well; owner and scheduler see all of them.
CREATE POLICY owner_all ON instance TO muniment_owner USING (true) WITH CHECK (true);
CREATE POLICY read_all ON instance FOR SELECT TO muniment_app, muniment_maintenance USING (true);
CREATE POLICY owner_all ON embedding_model TO muniment_owner USING (true) WITH CHECK (true);
CREATE POLICY read_all ON embedding_model FOR SELECT TO muniment_app, muniment_maintenance USING (true);
-- The scheduler carries a change of model through: it may say which model is in use, and how far it is.
CREATE POLICY switch_all ON instance FOR UPDATE TO muniment_maintenance USING (true) WITH CHECK (true);
CREATE POLICY owner_all ON reindex TO muniment_owner USING (true) WITH CHECK (true);
CREATE POLICY read_all ON reindex FOR SELECT TO muniment_app, muniment_maintenance USING (true);
CREATE POLICY advance_all ON reindex FOR UPDATE TO muniment_maintenance USING (true) WITH CHECK (true);
CREATE POLICY owner_all ON tenant TO muniment_owner USING (true) WITH CHECK (true);
CREATE POLICY read_all ON tenant FOR SELECT TO muniment_maintenance USING (true);
CREATE POLICY read_own ON tenant FOR SELECT TO muniment_app
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid
           OR name = nullif(current_setting('app.tenant_name', true), ''));
CREATE POLICY owner_all ON credential TO muniment_owner USING (true) WITH CHECK (true);
CREATE POLICY read_one ON credential FOR SELECT TO muniment_app
    USING (public_id = nullif(current_setting('app.credential', true), ''));

-- Grants: least privilege per role -------------------------------------------------------------

GRANT SELECT ON instance, embedding_model, reindex, tenant, credential TO muniment_app;
GRANT SELECT, INSERT, UPDATE ON scope, erasure TO muniment_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memory TO muniment_app;
GRANT SELECT, INSERT, DELETE ON memory_revision, posting TO muniment_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_embedding TO muniment_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency TO muniment_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON review TO muniment_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ingest_session, ingest, ingest_turn TO muniment_app;
GRANT SELECT ON review TO muniment_maintenance;
GRANT SELECT, INSERT ON tombstone, audit_event TO muniment_app;
GRANT SELECT, INSERT ON audit_queue TO muniment_app;
GRANT SELECT ON audit_chain, audit_checkpoint, audit_memory, audit_head TO muniment_app;
GRANT SELECT ON tenant_policy, tenant_setting, agent_view TO muniment_app, muniment_maintenance;

GRANT SELECT ON instance, embedding_model, reindex, tenant TO muniment_maintenance;
GRANT UPDATE (model_no, analyzer) ON instance TO muniment_maintenance;
GRANT UPDATE (state, worker, lease_time, complete_time, drop_time) ON reindex TO muniment_maintenance;
GRANT SELECT ON scope, memory, memory_revision, tombstone, memory_embedding, posting, erasure, audit_event
    TO muniment_maintenance;
GRANT SELECT, DELETE ON audit_queue, idempotency TO muniment_maintenance;
GRANT SELECT, INSERT ON audit_chain, audit_checkpoint, audit_memory TO muniment_maintenance;
GRANT SELECT, INSERT, UPDATE ON audit_head TO muniment_maintenance;
