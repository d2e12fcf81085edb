"""What a subject decided about being remembered: how much, and which sessions not at all."""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum

from .model import MemoryKind

CONSENT_NONE = "CONSENT_NONE"
"""Rule: nothing may be remembered about the subject."""
CONSENT_NOT_NECESSARY = "CONSENT_NOT_NECESSARY"
"""Rule: only kinds that are necessary may be remembered, and this one is not."""
CONSENT_SESSION = "CONSENT_SESSION"
"""Rule: the session is not to be remembered."""

MAX_SESSIONS = 1_000
"""Sessions of one subject that are not to be remembered."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION = 1


class ConsentLevel(IntEnum):
    """How much may be remembered; the contract's numbers."""

    ALL = 1
    NECESSARY = 2
    NONE = 3


@dataclass(frozen=True, slots=True)
class Consent:
    """A subject's decision. `level` and `update_time` are None while nobody decided.

    necessary_kinds: what NECESSARY covers. forgotten_sessions: in the order in which they were named.
    """

    level: ConsentLevel | None = None
    necessary_kinds: frozenset[MemoryKind] = frozenset()
    forgotten_sessions: tuple[str, ...] = ()
    update_time: datetime | None = None

    def under(self, default: "Consent") -> "Consent":
        """This decision, with the default's level and kinds where nobody decided."""
        if self.level is not None:
            return self
        return replace(self, level=default.level, necessary_kinds=default.necessary_kinds)

    def refusal(self, kind: MemoryKind, sessions: Collection[str | None] = ()) -> str | None:
        """The rule by which a memory of this kind, from one of these sessions, may not be kept, or None."""
        if self.level is ConsentLevel.NONE:
            return CONSENT_NONE
        if not self._forgotten.isdisjoint(sessions):
            return CONSENT_SESSION
        if self.level is ConsentLevel.NECESSARY and kind not in self.necessary_kinds:
            return CONSENT_NOT_NECESSARY
        return None

    @property
    def _forgotten(self) -> frozenset[str]:
        return frozenset(self.forgotten_sessions)

    @property
    def withheld(self) -> bool:
        """Whether what is stored may not be recalled either."""
        return self.level is ConsentLevel.NONE

    def to_bytes(self) -> bytes:
        """One spelling for equal decisions, to be stored and sealed."""
        return json.dumps(
            {
                "v": _VERSION,
                "level": None if self.level is None else int(self.level),
                "kinds": sorted(int(kind) for kind in self.necessary_kinds),
                "sessions": list(self.forgotten_sessions),
                "time": None
                if self.update_time is None
                else (self.update_time - _EPOCH) // timedelta(microseconds=1),
            },
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()

    @classmethod
    def from_bytes(cls, stored: bytes | None) -> "Consent":
        """The decision of `to_bytes`; None is no decision. Raises ValueError for anything else."""
        if stored is None:
            return cls()
        try:
            found = json.loads(stored)
            if found["v"] != _VERSION:
                raise ValueError("a decision of an unknown version")
            return cls(
                level=None if found["level"] is None else ConsentLevel(found["level"]),
                necessary_kinds=frozenset(MemoryKind(number) for number in found["kinds"]),
                forgotten_sessions=tuple(found["sessions"]),
                update_time=None if found["time"] is None else _EPOCH + timedelta(microseconds=found["time"]),
            )
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError("not a stored decision") from error
