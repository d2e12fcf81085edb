"""How Recall grows with the size of a subject and of its tenant."""
