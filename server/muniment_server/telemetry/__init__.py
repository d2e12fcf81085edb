"""Traces, metrics and logs: names, set-up, helpers. None of them ever holds content by default."""
