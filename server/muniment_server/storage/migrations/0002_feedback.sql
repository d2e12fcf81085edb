-- What was reported of the use of a memory's text, one row per reporter: the counts of the outcomes that
-- ReportUse told. Recall reads them, and only ReportUse writes them. They go with the memory.
CREATE TABLE memory_feedback (
    tenant_id        uuid    NOT NULL,
    scope_id         uuid    NOT NULL,
    doc_no           integer NOT NULL,
    -- The agent that a credential is bound to, or the credential.
    actor            text    NOT NULL,
    content_revision integer NOT NULL,
    helpful          integer NOT NULL,
    neutral          integer NOT NULL,
    harmful          integer NOT NULL,
    CONSTRAINT memory_feedback_pkey PRIMARY KEY (tenant_id, scope_id, doc_no, actor),
    CONSTRAINT memory_feedback_memory_fkey FOREIGN KEY (tenant_id, scope_id, doc_no)
        REFERENCES memory (tenant_id, scope_id, doc_no) ON DELETE CASCADE
);
ALTER TABLE memory_feedback ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_feedback FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON memory_feedback
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE ON memory_feedback TO muniment_app;
