"""Judges: how a new statement relates to a near one. They propose; a tenant's policy says what counts."""
