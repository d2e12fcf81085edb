-- The identity of this installation and the embedding model it was started with.
SELECT i.instance_id, i.model_no, i.restore_epoch, m.name, m.digest, m.dimension
FROM instance i
JOIN embedding_model m ON m.model_no = i.model_no
