-- Says that the vectors which a change made needless are gone.
UPDATE reindex
SET drop_time = %(now)s
WHERE reindex_id = %(reindex_id)s
