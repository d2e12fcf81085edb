"""Quality of Recall on conversations with known answers: `make bench-recall DATA=<folder>`."""
