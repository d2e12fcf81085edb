-- The signs of each vector's components, by which recall_large draws what may be near without reading the
-- vectors: in the index beside its key, so that a scope's signs lie together and are read from it alone.
-- This rewrites the table of vectors and its index; writers and readers of vectors wait for it.
ALTER TABLE memory_embedding
    ADD COLUMN signs bit varying GENERATED ALWAYS AS (binary_quantize(embedding)::bit varying) STORED;
ALTER TABLE memory_embedding DROP CONSTRAINT memory_embedding_pkey;
ALTER TABLE memory_embedding ADD CONSTRAINT memory_embedding_pkey
    PRIMARY KEY (tenant_id, scope_no, model_no, doc_no, content_revision) INCLUDE (signs);

-- What always applies is found without looking at all memories of a scope.
CREATE INDEX memory_pinned_idx ON memory (tenant_id, scope_id, doc_no)
    WHERE kind IN (1, 5) AND 'pinned' = ANY (tags);
