"""Clients and processes that fork.

gRPC's threads do not survive a fork: a channel that was used before may hang in the child, beyond
every deadline. So a client belongs to the process that first used it, and refuses elsewhere at once.
"""

import os

_opened_in: int | None = None


def opened() -> int:
    """Note that a channel is opened in this process; its id. RuntimeError where that would hang."""
    global _opened_in
    here = os.getpid()
    if _opened_in is None:
        _opened_in = here
    if _opened_in != here and os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower() in ("0", "false"):
        raise RuntimeError(
            "a client was used before this process was forked, and GRPC_ENABLE_FORK_SUPPORT is off: "
            "start workers by spawn, or fork before the first call"
        )
    return here


def is_here(opened_in: int) -> bool:
    """Whether a channel was opened in this process."""
    return opened_in == os.getpid()


def check(opened_in: int) -> None:
    """Refuse a client that another process opened."""
    if not is_here(opened_in):
        raise RuntimeError("this client was used before a fork: make a new client in each process")
