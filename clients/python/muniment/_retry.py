"""Waiting as long as the service asks.

gRPC itself repeats what failed with UNAVAILABLE, as the contract's service config says, and waits as long as
the trailer `grpc-retry-pushback-ms` asks for. Its attempts may be used up or throttled, and a proxy may drop
the trailer; gRPC does not know RetryInfo. What is left of the deadline is used here to ask again after it.
"""

import random
from typing import Final

from muniment._errors import MunimentError, Unavailable

ROUNDS: Final = 4
"""Rounds of one call, the first included; as many as the service config has attempts."""

_SPREAD: Final = 0.25
_LEAST_SECONDS: Final = 0.02


def delay(failure: MunimentError, rounds: int, remaining: float) -> float | None:
    """Seconds to wait before another round, or None to give up.

    failure: how the round ended. rounds: how many there were. remaining: seconds to the deadline.
    """
    if not isinstance(failure, Unavailable) or failure.retry_after is None or rounds >= ROUNDS:
        return None
    asked = failure.retry_after.total_seconds()
    # Upwards only: callers that were refused together must not come back together, nor too early.
    wait = asked * (1 + random.random() * _SPREAD)  # noqa: S311
    return wait if wait + _LEAST_SECONDS < remaining else None
