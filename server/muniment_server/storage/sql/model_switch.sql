-- Makes another embedding model the one in use.
UPDATE instance
SET model_no = %(to_no)s
WHERE model_no = %(from_no)s
