"""The asynchronous client. `_sync` is made from this package by tools/make_sync.py."""
