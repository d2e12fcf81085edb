"""The one interface of all extractors."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from muniment_server.domain.extraction import rules
from muniment_server.domain.extraction.candidate import Candidate, Extraction, ExtractorKind, Turn


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


_INLINE_CHARACTERS = 2_000


async def by_rules(turns: Sequence[Turn]) -> list[Candidate]:
    """The candidates of the rules; long conversations leave the event loop alone."""
    if sum(len(turn.content) for turn in turns) > _INLINE_CHARACTERS:
        return await asyncio.to_thread(rules.extract, turns)
    return rules.extract(turns)


class RulesExtractor:
    """The fixed rules."""

    kind = ExtractorKind.RULES

    async def extract(
        self, turns: Sequence[Turn], before: Sequence[Turn] = (), patience: float | None = None
    ) -> Extraction:
        """See Extractor."""
        return Extraction(await by_rules(turns), self.kind)
