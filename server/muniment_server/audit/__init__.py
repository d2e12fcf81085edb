"""The audit trail: events, their canonical bytes, the chain and its verification."""
