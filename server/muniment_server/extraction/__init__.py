"""Extractors: who makes candidate memories of the turns of a conversation."""
