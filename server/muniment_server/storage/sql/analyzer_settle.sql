-- Says that no older version of the analysis stands in the index any more.
UPDATE instance
SET analyzer = %(analyzer)s
WHERE analyzer < %(analyzer)s
