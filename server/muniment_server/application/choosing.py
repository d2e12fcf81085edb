"""Which candidates are offered: as many as asked for, and not all of one doubtful source."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, Protocol, TypeVar

from muniment_server.domain.model import Revision, TrustLevel
from muniment_server.domain.sources import bounded_source


class Found(Protocol):
    """A candidate, as far as the choice needs it."""

    @property
    def revision(self) -> Revision: ...


C = TypeVar("C", bound=Found)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice(Generic[C, T]):
    """The candidates that are offered, best first, and those that one source had too many of."""

    chosen: list[tuple[C, T]]
    capped: list[tuple[C, T]]


def choose(ranked: Sequence[tuple[C, T]], limit: int, source_share: float) -> Choice[C, T]:
    """The best `limit` candidates, of which one source has at most `source_share`, but always one.

    What has at least HIGH trust is the subject's own word, and no source in this sense. A source below
    MEDIUM trust loses what it has too many of; a document that an agent drew on (MEDIUM trust and a
    `source_ref`) steps back behind other sources and comes in again where places are left.
    """
    most = most_of_source(limit, source_share)
    counts: Counter[str] = Counter()
    chosen: list[int] = []
    waiting: list[int] = []
    capped: list[int] = []
    for place, (candidate, _) in enumerate(ranked):
        if len(chosen) == limit:
            break
        source = source_of(candidate.revision)
        if source is not None:
            counts[source] += 1
            if counts[source] > most:
                (capped if candidate.revision.trust < TrustLevel.MEDIUM else waiting).append(place)
                continue
        chosen.append(place)
    room = limit - len(chosen)
    chosen = sorted(chosen + waiting[:room])
    left = sorted(capped + waiting[room:])
    return Choice([ranked[place] for place in chosen], [ranked[place] for place in left])


def most_of_source(limit: int, source_share: float) -> int:
    """How many of `limit` memories may be of one bounded source."""
    return max(1, ceil(limit * source_share)) if source_share < 1 else limit


def source_of(revision: Revision) -> str | None:
    """The source that a memory counts for, or None for one that is no bounded source."""
    return bounded_source(revision.trust, revision.kind, revision.source_ref, revision.author)
