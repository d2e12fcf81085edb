-- Changes of the embedding model that are not over, the oldest first.
SELECT r.reindex_id, r.state, r.from_no, r.to_no, r.automatic, r.create_time, r.complete_time, r.drop_time
FROM reindex r
WHERE r.kind = 1 AND r.drop_time IS NULL
ORDER BY r.create_time, r.reindex_id
