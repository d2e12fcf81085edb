"""What the service needs from a judge."""

from collections.abc import Sequence
from typing import Protocol

from muniment_server.domain.conflicts import Judgement


class JudgeFailed(Exception):
    """The judge did not answer, or not in time, or nonsense. The message holds no content."""


class Judge(Protocol):
    """Relates statements in pairs. What it is given is data, whatever it says."""

    async def judge(self, pairs: Sequence[tuple[str, str]], patience: float) -> list[Judgement | None]:
        """Per pair (new, old) how the new one relates to the old one; None where nothing can be said.

        patience: seconds for all of them. Raises JudgeFailed.
        """
