-- Tells the other processes, after the commit, that something they may have cached is gone.
SELECT pg_notify('muniment_hint', %(payload)s)
