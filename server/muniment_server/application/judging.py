"""Has near memories judged before a write takes its lock, where a judge is configured.

The judge proposes. What its word does is the tenant's policy `review.judge`: nothing, a proposal in the
answer, or a review of what it says contradicts a live memory or says the same as one. It never merges,
replaces or drops; a reviewer who approves what says the same puts it in the other's place, if that one is
live then. What came in that one's place meanwhile was never judged.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.conflicts import Judgement, Relation
from muniment_server.domain.gates.base import Finding, Verdict
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import MemoryState
from muniment_server.identity.principal import CallContext
from muniment_server.judging.base import JudgeFailed
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import lock_memories

from .conflicts import Judged, Near
from .preparing import Prepared
from .scoping import writing_key
from .sealing import is_genuine
from .services import Services

GATE = "judge"
CONTRADICTION = "JUDGED_CONTRADICTION"
MERGE = "JUDGED_SAME"
SURE = 0.8
"""From this confidence on, a judgement goes to review where the policy wants that."""
_SHARE = 0.4
"""Of the time that a call has left, what it may spend on the judge."""

Prepare: TypeAlias = Callable[[ScopeKey], Sequence[Prepared]]

Merges: TypeAlias = Mapping[str, UUID]
"""Texts that say the same as a live memory whose place they could take, and that memory."""

_log = logging.getLogger(__name__)


async def judged(
    services: Services, context: CallContext, near: Near, kept: Sequence[Screened], prepare: Prepare
) -> tuple[Judged, Merges]:
    """What the judge says of the kept items and what is near to them; empty when it has nothing to say."""
    judge = services.judge
    if judge is None or not kept:
        return {}, {}
    key = await writing_key(services.keys, context.tenant_id, near.scope_id, None)
    prepared = prepare(key)
    requests = near.requests(prepared)
    if not requests:
        return {}, {}
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        rows = await work.fetch_together(*requests)
    texts = [one.item.indexed for one in kept]
    own = [one.item.memory_id for one in prepared]
    pairs = [
        (text, other)
        for text, others in zip(
            texts, near.candidates(key, context.tenant_id, prepared, texts, rows, own, ()), strict=True
        )
        for other in others
    ]
    if not pairs:
        return {}, {}
    patience = min(services.judge_patience, context.remaining() * _SHARE)
    try:
        answers = await judge.judge([(text, other.text) for text, other in pairs], patience)
    except JudgeFailed as error:
        _log.warning("the judge did not help: %s", error)
        return {}, {}
    said: dict[tuple[str, UUID], Judgement] = {}
    merges: dict[str, UUID] = {}
    for (text, other), answer in zip(pairs, answers, strict=True):
        if answer is None:
            continue
        said[text, other.memory_id] = answer
        if other.alike and is_same(answer):
            # The nearest comes first.
            merges.setdefault(text, other.memory_id)
    return said, merges


def reviewed(screened: Sequence[Screened], said: Judged, merges: Merges) -> list[Screened]:
    """The items; those wait for review that a sure judge finds to contradict a live memory, or to say what
    one says."""
    against = {text for (text, _), answer in said.items() if contradicts(answer)}
    return [_held(one, one.item.indexed in against, merges.get(one.item.indexed)) for one in screened]


def _held(one: Screened, contradicted: bool, same_as: UUID | None) -> Screened:
    if one.verdict >= Verdict.REVIEW or not (contradicted or same_as):
        return one
    rule = CONTRADICTION if contradicted else MERGE
    return replace(
        one,
        verdict=Verdict.REVIEW,
        gate=GATE,
        rule=rule,
        findings=(*one.findings, Finding(GATE, rule, Verdict.REVIEW)),
        in_place_of=None if contradicted else same_as,
        otherwise=None if contradicted else one,
    )


async def still_proposed(
    work: UnitOfWork,
    key: ScopeKey,
    scope_id: UUID,
    screened: Sequence[Screened],
    prepared: Sequence[Prepared],
) -> tuple[list[Screened], list[Prepared]]:
    """The items and what is prepared of them, under the lock of the scope.

    A merge with what was replaced, ended or erased since the judge looked is none: the item is what the gates
    left.
    """
    named = {one.in_place_of for one in screened if one.in_place_of is not None}
    if not named:
        return list(screened), list(prepared)
    live = {
        revision.memory_id
        for revision, contradicted in await lock_memories(work, named)
        if revision.state is MemoryState.ACTIVE
        and revision.scope_id == scope_id
        and not contradicted
        and is_genuine(key, work.tenant_id, revision)
    }
    after = [
        one.otherwise if one.otherwise is not None and one.in_place_of not in live else one
        for one in screened
    ]
    ready = iter(prepared)
    items = []
    for before, one in zip(screened, after, strict=True):
        if before.dropped:
            continue
        item = next(ready)
        if one is not before:
            changed = replace(item.item, state=one.state, rule=one.rule or None, in_place_of=None)
            item = replace(item, item=changed)
        items.append(item)
    return after, items


def is_same(answer: Judgement) -> bool:
    """Whether a judge is sure that the new statement says what the other one says, or more of it."""
    return answer.relation in (Relation.REINFORCES, Relation.REFINES) and answer.confidence >= SURE


def contradicts(answer: Judgement) -> bool:
    """Whether a judge is sure of a contradiction."""
    return answer.relation is Relation.CONTRADICTS and answer.confidence >= SURE
