-- The embedding models whose vectors may be stored, and which one is in use.
SELECT m.model_no, m.name, m.dimension,
       EXISTS (SELECT FROM instance i WHERE i.model_no = m.model_no) AS in_use
FROM embedding_model m
ORDER BY m.model_no
