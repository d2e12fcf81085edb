-- Tells that the database answers.
SELECT 1 AS one
