"""The gate for how we know: what nobody is sure of, or a third party says, waits for a reviewer."""

from muniment_server.domain.model import MemoryKind, TrustLevel

from .base import Finding, GateResult, Statement, Verdict
from .policy import GatePolicy

NAME = "confidence"
LOW_CONFIDENCE = "LOW_CONFIDENCE"
REVIEWED_SOURCE = "SOURCE_NEEDS_REVIEW"


class ConfidenceGate:
    """Sends doubtful statements to review.

    What the user said stands, however sure the writer is of it; the confidence is stored with it.
    """

    name = NAME

    def __init__(self, policy: GatePolicy) -> None:
        self._policy = policy

    def check(self, statement: Statement) -> GateResult:
        """See `Gate`."""
        policy = self._policy
        # A turn says only that somebody said it; what is made of it is judged by itself.
        if statement.source_type in policy.review_sources and statement.kind is not MemoryKind.TURN:
            return _review(REVIEWED_SOURCE)
        doubtful = statement.confidence is not None and statement.confidence < policy.min_confidence
        if doubtful and statement.trust < TrustLevel.HIGH:
            return _review(LOW_CONFIDENCE)
        return GateResult(NAME)


def _review(rule: str) -> GateResult:
    return GateResult(NAME, Verdict.REVIEW, rule, [Finding(NAME, rule, Verdict.REVIEW)])
