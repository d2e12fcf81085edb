-- Memories that version 1 of the text analysis has seen: hardly any, once they are brought to version 2, but a process
-- of the version before that still runs goes on writing some.
CREATE INDEX memory_analysed_before ON memory (tenant_id) WHERE analyzer < 2;
