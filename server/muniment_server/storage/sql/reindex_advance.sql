-- Says how far a change is, if it is where it should be.
UPDATE reindex
SET state = %(state)s, complete_time = coalesce(complete_time, %(now)s)
WHERE reindex_id = %(reindex_id)s AND state = %(expected)s
RETURNING reindex_id
