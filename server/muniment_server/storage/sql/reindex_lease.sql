-- Takes or keeps the work on a change, unless another process has it and was heard of lately.
UPDATE reindex
SET worker = %(worker)s, lease_time = %(now)s
WHERE reindex_id = %(reindex_id)s AND drop_time IS NULL
      AND (worker IS NULL OR worker = %(worker)s OR lease_time < %(stale)s)
RETURNING reindex_id, state, from_no, to_no, automatic
