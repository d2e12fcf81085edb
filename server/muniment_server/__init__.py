"""The Muniment memory service."""
