-- The embedding models whose vectors may be stored.
SELECT model_no, name, dimension
FROM embedding_model
ORDER BY model_no
