"""The one interface of all extractors."""

from collections.abc import Sequence
from typing import Protocol

from muniment_server.domain.extraction import rules
from muniment_server.domain.extraction.candidate import Extraction, ExtractorKind, Turn


class Extractor(Protocol):
    """Makes candidates of turns. Never fails: where a language model does, the rules do the work and the
    extraction says so."""

    @property
    def kind(self) -> ExtractorKind:
        """Who it is."""
        ...

    async def extract(
        self, turns: Sequence[Turn], before: Sequence[Turn] = (), patience: float | None = None
    ) -> Extraction:
        """The candidates of `turns`. before: turns that came earlier, to understand these.

        patience: seconds that it may take.
        """
        ...


class RulesExtractor:
    """The fixed rules."""

    kind = ExtractorKind.RULES

    async def extract(
        self, turns: Sequence[Turn], before: Sequence[Turn] = (), patience: float | None = None
    ) -> Extraction:
        """See Extractor."""
        return Extraction(rules.extract(turns), self.kind)
