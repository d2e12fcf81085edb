"""How conversations are made memories of: what an installation sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from muniment_server.domain.extraction.candidate import ExtractorKind
from muniment_server.extraction.base import Extractor
from muniment_server.extraction.factory import extractors


@dataclass(frozen=True, slots=True)
class IngestPolicy:
    """quiet_seconds: of a session before its extraction begins by itself, in place of the tenants' settings.

    seconds: that an attempt may take, after which another process may begin it again. attempts: before it is
    given up. pause: before the second attempt; each later one waits twice as long, an hour at most.
    turns: looked at at once. before: earlier turns shown to an extractor, to understand these.
    """

    quiet_seconds: float | None = None
    seconds: float = 120.0
    attempts: int = 5
    pause: float = 2.0
    turns: int = 100
    before: int = 6

    def pause_after(self, attempts: int) -> timedelta:
        """How long to wait after so many attempts."""
        return timedelta(seconds=min(3_600.0, self.pause * 2 ** max(0, attempts - 1)))


def rules_only() -> Mapping[ExtractorKind, Extractor]:
    """The extractors of an installation without a language model."""
    return extractors(None)
