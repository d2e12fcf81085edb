"""What counts how much when found memories are put in order: one weight per signal, all of them here.

Two measures in [0, 1] carry a score: `own`, the calibrated sum of nearness and shared words of a memory
(`embedding.base.Calibration`), and `around`, the same over a turn with the two turns on either side. The
weights below say what else counts beside them. They are round numbers with a reason each; docs/recall.md
has the reasons, the formulas and what leaving one out costs.

A tenant can scale each of them by a factor between 0 and 3 (`domain.settings.Ranking`), and none can make
a recall find a memory that its scope and its filter do not let it find.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .model import MemoryKind, RetrievalLeg, SourceType, TrustLevel
from .settings import Ranking

AROUND = 0.4
"""What is said around a turn counts as much as the turn itself: answers rarely repeat the question."""
TURN_ROOM = 0.2
"""What own and around leave of a turn's score to the signals that only turns have."""
APART = 0.25
"""Part of the weight of words that nearness gets where no word can meet, since they are in two scripts."""
SESSION = 0.28
"""The session that has the words of the query, and a turn that is near to it, is the likelier place."""
ENTITY = 0.12
"""Who is named in the query speaks, or is named in the memory."""
TIME = 0.15
SLOT = 0.2
"""All words of a slot's name stand in the query; more than any threshold, since nothing is more exact."""
PINNED = 0.15
"""A preference or rule tagged `pinned` always applies: just above the threshold, behind what is asked for."""
LENGTH = 0.08
"""A turn of forty terms says something; "Great!" matches well and says nothing."""
ANSWERS = 0.08
"""The turn says a time, a number or a name, and such a one is asked for."""
QUESTION = 0.04
"""A turn that asks is rarely the answer."""
REPLY = 0.12
"""Who was just asked the like answers it, mostly in other words: as far as the question matches."""
RECENCY = 0.05
"""Most of its score that age takes from a memory."""
CONFIDENCE = 0.05
"""Most of its score that a doubtful writer takes from a memory."""
FEEDBACK = 0.04
"""Most of its score that reported uses give to a memory, or take from it."""
PINNED_TAG = "pinned"

_KIND: Mapping[MemoryKind, float] = {
    MemoryKind.PREFERENCE: 1.04,
    MemoryKind.RULE: 1.04,
    MemoryKind.FACT: 1.0,
    MemoryKind.SUMMARY: 1.0,
    MemoryKind.DECISION: 1.0,
    MemoryKind.EVENT: 0.98,
    MemoryKind.TURN: 0.98,
}
_TRUST: Mapping[TrustLevel, float] = {
    TrustLevel.UNTRUSTED: 0.85,
    TrustLevel.LOW: 0.92,
    TrustLevel.MEDIUM: 1.0,
    TrustLevel.HIGH: 1.0,
    TrustLevel.CONFIRMED: 1.02,
}
_SOURCE: Mapping[SourceType, float] = {
    SourceType.USER_STATED: 1.0,
    SourceType.USER_CONFIRMED: 1.02,
    SourceType.AGENT_INFERRED: 1.0,
    SourceType.TOOL: 1.0,
    SourceType.THIRD_PARTY: 0.97,
}
_LEAST_FACTOR = 0.05
_MOST_MADE = 256


@dataclass(frozen=True, slots=True)
class RankingSettings:
    """Every number of one recall's order but the calibration of its model.

    legs: factor per leg. kind, trust, source: factors by the number of the enumeration, from 1.
    half_lives: days, by the number of the kind.
    """

    legs: Mapping[RetrievalLeg, float]
    kind: Sequence[float]
    trust: Sequence[float]
    source: Sequence[float]
    half_lives: Sequence[float]
    recency: float = RECENCY
    confidence: float = CONFIDENCE
    feedback: float = FEEDBACK

    @classmethod
    def of(cls, ranking: Ranking) -> "RankingSettings":
        """The defaults as a tenant scaled them; remembered while the settings are."""
        known = _MADE.get(id(ranking))
        if known is not None:
            return known[1]
        made = cls._of(ranking)
        if len(_MADE) >= _MOST_MADE:
            _MADE.clear()
        # What is kept with it holds the place that it is found by.
        _MADE[id(ranking)] = (ranking, made)
        return made

    @classmethod
    def _of(cls, ranking: Ranking) -> "RankingSettings":
        legs = {leg: float(getattr(ranking.legs, leg.name.lower())) for leg in RetrievalLeg}
        lives = ranking.half_life_days
        return cls(
            legs=legs,
            kind=[_scaled(_KIND[kind], ranking.kind) for kind in MemoryKind],
            trust=[_scaled(_TRUST[trust], ranking.trust) for trust in TrustLevel],
            source=[_scaled(_SOURCE[source], ranking.source) for source in SourceType],
            half_lives=[float(getattr(lives, kind.name.lower())) for kind in MemoryKind],
            recency=RECENCY * ranking.recency,
            confidence=CONFIDENCE * ranking.confidence,
            feedback=FEEDBACK * ranking.feedback,
        )

    def weight(self, leg: RetrievalLeg, legs: Sequence[RetrievalLeg], default: float) -> float:
        """What a leg counts: its weight as the tenant scaled it, 0 when the request leaves it out."""
        return default * self.legs[leg] if leg in legs else 0.0

    def recency_factor(self, kind: MemoryKind, recorded: datetime, now: datetime) -> float:
        """1 - recency * (1 - 2 ** (-age / half-life)), with the age in whole days; as in SQL."""
        age = max(0, (now - recorded).days)
        return 1 - self.recency * (1 - 2 ** (-age / self.half_lives[kind - 1]))

    def feedback_factor(self, reports: Sequence[tuple[int, int, int]]) -> float:
        """1 + feedback * sum of voices / (reporters + 2), given each one's helpful, neutral and harmful uses.

        A voice is (helpful - harmful) / (all + 1), so that one reporter alone moves a score by a third of the
        bound at most, and many who agree come near it; as in SQL.
        """
        voices = [
            (helpful - harmful) / (helpful + neutral + harmful + 1) for helpful, neutral, harmful in reports
        ]
        return 1 + self.feedback * sum(voices) / (len(voices) + 2)


def _scaled(factor: float, by: float) -> float:
    return max(_LEAST_FACTOR, 1 + (factor - 1) * by)


_MADE: dict[int, tuple[Ranking, RankingSettings]] = {}
DEFAULTS = RankingSettings.of(Ranking())
