"""Verification of everything stored: see `startup_check` and `verify`."""

from .anchors import DatabaseBehindAnchors, startup_check

__all__ = ["DatabaseBehindAnchors", "startup_check"]
