"""The command `muniment`."""

from .app import main

__all__ = ["main"]
