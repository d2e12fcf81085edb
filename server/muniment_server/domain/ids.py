"""Time-ordered ids (UUID version 7, RFC 9562) made by the service."""

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def new_id() -> UUID:
    """A UUIDv7 whose first 60 bits (milliseconds and a 12-bit fraction) never go back in a process."""
    global _last
    with _lock:
        # 12 bits below the millisecond: RFC 9562 section 6.2, method 3.
        stamp = (time.time_ns() << 12) // 1_000_000
        if stamp <= _last:
            stamp = _last + 1
        _last = stamp
    high = ((stamp >> 12) << 16) | 0x7000 | (stamp & 0xFFF)
    low = int.from_bytes(os.urandom(8)) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return UUID(int=(high << 64) | low)
