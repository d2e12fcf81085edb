-- The oldest transaction that runs, and the first that has not begun.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
