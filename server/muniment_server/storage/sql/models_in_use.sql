-- The embedding model in use, and the one of a running change.
SELECT m.model_no, m.name, m.digest, m.dimension, m.setting, i.model_no = m.model_no AS in_use, i.analyzer,
       (SELECT r.reindex_id FROM reindex r
        WHERE r.kind = 1 AND r.state IN (1, 2) AND r.to_no = m.model_no) AS reindex_id
FROM embedding_model m
CROSS JOIN instance i
WHERE m.model_no = i.model_no
      OR EXISTS (SELECT FROM reindex r WHERE r.kind = 1 AND r.state IN (1, 2) AND r.to_no = m.model_no)
