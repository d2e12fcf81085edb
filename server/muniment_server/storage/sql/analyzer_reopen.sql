-- Says that an older version of the analysis stands in the index again.
UPDATE instance
SET analyzer = %(analyzer)s
WHERE analyzer > %(analyzer)s
