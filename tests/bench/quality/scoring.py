"""Recall at k, as the share of a question's gold turns among the first k returned.

    R@k   = mean over the questions of (gold turns found in the first k) / (gold turns)
    any@k = share of the questions with at least one gold turn in the first k
    session any@5 = share of the questions where a session of a gold turn is among the first five sessions

A gold turn counts as found when it, or a turn that the data names as equal to it, is there.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .corpora import Conversation, Question

STEPS = (1, 5, 10, 20)


@dataclass(slots=True)
class Figures:
    """Sums over questions; `of` gives the mean."""

    questions: int = 0
    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, values: Mapping[str, float]) -> None:
        """Count one question."""
        self.questions += 1
        for name, value in values.items():
            self.sums[name] += value

    def of(self, name: str) -> float | None:
        """A mean, or None where nothing was counted."""
        return self.sums[name] / self.questions if self.questions and name in self.sums else None


def score(question: Question, ranked: Sequence[str], sessions: Mapping[str, str] | None) -> dict[str, float]:
    """All figures of one question. `ranked`: turn ids, best first. `sessions`: session of each turn."""
    values: dict[str, float] = {}
    for k in STEPS:
        top = set(ranked[:k])
        hits = [
            gold in top or any(one in top for one in question.also.get(gold, ())) for gold in question.gold
        ]
        values[f"R@{k}"] = sum(hits) / len(hits)
        values[f"any@{k}"] = float(any(hits))
    if sessions is not None:
        first = list(dict.fromkeys(sessions[turn] for turn in ranked if turn in sessions))[:5]
        wanted = {sessions[turn] for turn in question.gold if turn in sessions}
        values["session any@5"] = float(bool(wanted & set(first)))
    return values


def summarise(
    conversations: Sequence[Conversation], ranked: Mapping[str, Sequence[str]]
) -> dict[str, Figures]:
    """Figures per group. `ranked`: turn ids by question id; a missing question found nothing."""
    figures: dict[str, Figures] = defaultdict(Figures)
    for conversation in conversations:
        locomo = conversation.corpus == "locomo"
        sessions = {turn.turn_id: turn.session for turn in conversation.turns} if locomo else None
        for question in conversation.questions:
            values = score(question, ranked.get(question.question_id, ()), sessions)
            figures[conversation.corpus].add(values)
            if locomo:
                figures[f"{conversation.corpus} {question.group}"].add(values)
    return dict(sorted(figures.items()))
