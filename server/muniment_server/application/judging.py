"""Has near memories judged before a write takes its lock, where a judge is configured.

The judge proposes. What its word does is the tenant's policy `review.judge`: nothing, a proposal in the
answer, or a review of what it says contradicts a live memory. It never merges, replaces or drops.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.conflicts import Judgement, Relation
from muniment_server.domain.gates.base import Finding, Verdict
from muniment_server.domain.gates.screening import Screened
from muniment_server.identity.principal import CallContext
from muniment_server.judging.base import JudgeFailed

from .conflicts import Judged, Near
from .preparing import Prepared
from .scoping import writing_key
from .services import Services

GATE = "judge"
CONTRADICTION = "JUDGED_CONTRADICTION"
SURE = 0.8
"""From this confidence on, a contradiction goes to review where the policy wants that."""
_SHARE = 0.4
"""Of the time that a call has left, what it may spend on the judge."""

Prepare: TypeAlias = Callable[[ScopeKey], Sequence[Prepared]]

_log = logging.getLogger(__name__)


async def judged(
    services: Services, context: CallContext, near: Near, kept: Sequence[Screened], prepare: Prepare
) -> Judged:
    """What the judge says of the kept items and what is near to them; empty when it has nothing to say."""
    judge = services.judge
    if judge is None or not kept:
        return {}
    key = await writing_key(services.keys, context.tenant_id, near.scope_id, None)
    prepared = prepare(key)
    requests = near.requests(prepared)
    if not requests:
        return {}
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        rows = await work.fetch_together(*requests)
    texts = [one.item.indexed for one in kept]
    own = [one.item.memory_id for one in prepared]
    pairs: list[tuple[str, UUID, str]] = [
        (text, other.memory_id, other.text)
        for text, others in zip(
            texts, near.candidates(key, context.tenant_id, prepared, texts, rows, own, ()), strict=True
        )
        for other in others
    ]
    if not pairs:
        return {}
    patience = min(services.judge_patience, context.remaining() * _SHARE)
    try:
        answers = await judge.judge([(new, old) for new, _, old in pairs], patience)
    except JudgeFailed as error:
        _log.warning("the judge did not help: %s", error)
        return {}
    return {
        (new, memory_id): answer
        for (new, memory_id, _), answer in zip(pairs, answers, strict=True)
        if answer is not None
    }


def reviewed(screened: Sequence[Screened], said: Judged) -> list[Screened]:
    """The items, those that a sure judge finds to contradict a live memory waiting for review."""
    against = {text for (text, _), answer in said.items() if contradicts(answer)}
    return [
        replace(
            one,
            verdict=Verdict.REVIEW,
            gate=GATE,
            rule=CONTRADICTION,
            findings=(*one.findings, Finding(GATE, CONTRADICTION, Verdict.REVIEW)),
        )
        if one.item.indexed in against and one.verdict < Verdict.REVIEW
        else one
        for one in screened
    ]


def contradicts(answer: Judgement) -> bool:
    """Whether a judge is sure of a contradiction."""
    return answer.relation is Relation.CONTRADICTS and answer.confidence >= SURE
