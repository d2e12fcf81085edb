"""What an agent may see of what its credential and its request reach."""

import json
from dataclasses import dataclass
from typing import Any

from .model import MemoryKind, SourceType, TrustLevel


@dataclass(frozen=True, slots=True)
class AgentView:
    """Bounds of what is read for one agent; None means no bound. It can only narrow a request.

    kinds, source_types: only memories of these. tags: only memories with at least one of these.
    min_trust: only memories of at least this trust. spaces: the only spaces that may be named.
    """

    kinds: frozenset[MemoryKind] | None = None
    tags: frozenset[str] | None = None
    source_types: frozenset[SourceType] | None = None
    min_trust: TrustLevel | None = None
    spaces: frozenset[str] | None = None

    def to_json(self) -> str:
        """One spelling for equal views."""
        return json.dumps(
            {
                "kinds": _numbers(self.kinds),
                "tags": None if self.tags is None else sorted(self.tags),
                "source_types": _numbers(self.source_types),
                "min_trust": None if self.min_trust is None else int(self.min_trust),
                "spaces": None if self.spaces is None else sorted(self.spaces),
            },
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str) -> "AgentView":
        """The view of `to_json`. Raises ValueError, KeyError or TypeError for anything else."""
        found: dict[str, Any] = json.loads(text)
        kinds, tags, sources, spaces = (
            None if found[name] is None else list(found[name])
            for name in ("kinds", "tags", "source_types", "spaces")
        )
        return cls(
            kinds=None if kinds is None else frozenset(MemoryKind(number) for number in kinds),
            tags=None if tags is None else frozenset(tags),
            source_types=None if sources is None else frozenset(SourceType(number) for number in sources),
            min_trust=None if found["min_trust"] is None else TrustLevel(found["min_trust"]),
            spaces=None if spaces is None else frozenset(spaces),
        )

    def admits(
        self, kind: MemoryKind, source_type: SourceType, trust: TrustLevel, tags: tuple[str, ...]
    ) -> bool:
        """Whether one memory lies within the view, as the filter lines of the SQL decide it."""
        return (
            (self.kinds is None or kind in self.kinds)
            and (self.source_types is None or source_type in self.source_types)
            and (self.min_trust is None or trust >= self.min_trust)
            and (self.tags is None or not self.tags.isdisjoint(tags))
        )


def _numbers(values: frozenset[MemoryKind] | frozenset[SourceType] | None) -> list[int] | None:
    return None if values is None else sorted(int(value) for value in values)
