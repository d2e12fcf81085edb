"""The gates in front of everything that writes: the tenant's policy over every item, before it is embedded.

Whoever writes (Write, Supersede, ingest, import, a reviewer's edit) calls `screen` with its items and their
stamped provenance, and goes on with what comes back: items as they may be stored, with the trust, the state
and the findings that the gates leave. Consent is judged later, under the scope's lock (`admission.py`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from uuid import UUID

from muniment_server.domain.errors import ContentRefused
from muniment_server.domain.gates.base import Verdict
from muniment_server.domain.gates.policy import GatePolicy, Handling, Sensitive, Suspicion
from muniment_server.domain.gates.screening import Screened, Screening
from muniment_server.domain.model import MemoryKind, NewMemory, Provenance
from muniment_server.domain.settings import HandlingByKind, SuspicionByTrust, TenantSettings

from .services import Services

_INLINE_CHARACTERS = 4_000
"""More than this is screened beside the event loop; it takes at most a few microseconds a character."""


def gate_policy(settings: TenantSettings) -> GatePolicy:
    """What a tenant's settings mean for the gates."""
    gates = settings.gates
    sorts: Mapping[Sensitive, HandlingByKind] = {
        sort: getattr(gates, sort.value.lower()) for sort in Sensitive
    }
    by_kind: dict[MemoryKind, dict[Sensitive, Handling]] = {}
    for sort, setting in sorts.items():
        for kind, name in setting.by_kind().items():
            by_kind.setdefault(kind, {})[sort] = Handling(name)
    importance = settings.importance
    return GatePolicy(
        sensitive={sort: Handling(one.default) for sort, one in sorts.items() if one.default is not None},
        sensitive_by_kind=by_kind,
        regions=gates.regions,
        instructions=_suspicion(gates.instructions),
        stuffing=_suspicion(gates.stuffing),
        min_importance=importance.min_score,
        extraction_min_importance=importance.extraction_min_score,
        importance_factors={
            name: getattr(importance, name) for name in ("kind", "stability", "repetition", "explicitness")
        },
        min_confidence=settings.review.min_confidence,
        review_sources=settings.review.source_types(),
    )


def _suspicion(setting: SuspicionByTrust) -> Suspicion:
    return Suspicion(*(Verdict[name.upper()] for name in (setting.low, setting.medium, setting.high)))


@lru_cache(maxsize=256)
def screening(settings: TenantSettings, extraction: bool = False) -> Screening:
    """The gates of a tenant's settings, made once."""
    return Screening(gate_policy(settings), extraction=extraction)


async def screen(
    services: Services,
    tenant_id: UUID,
    items: Sequence[NewMemory],
    provenances: Sequence[Provenance],
    *,
    path: str = "items[{}]",
    extraction: bool = False,
    corrects: bool = False,
    times_said: Sequence[int] | None = None,
) -> list[Screened]:
    """Every item after the gates, in order. Raises ContentRefused for the first one that is refused;
    what an extractor proposed and a gate refuses comes back as dropped.

    path: of an item in the request, for the error. extraction: the items are an extractor's proposals.
    corrects: they replace what they name. times_said: how often each was said so far.
    """
    gates = screening(await services.settings.of(tenant_id), extraction)
    now = services.clock()
    said = times_said or [1] * len(items)

    def judge() -> list[Screened]:
        return [
            gates.screen(item, provenance, now, force=item.force, times_said=times, corrects=corrects)
            for item, provenance, times in zip(items, provenances, said, strict=True)
        ]

    long = sum(len(item.content) + len(item.attributes or "") for item in items) > _INLINE_CHARACTERS
    screened = await asyncio.to_thread(judge) if long else judge()
    for index, one in enumerate(screened):
        if one.verdict is Verdict.REJECT and extraction:
            # Nobody is there to be refused; what the gates found is told all the same.
            screened[index] = replace(one, verdict=Verdict.DROP)
        elif one.verdict is Verdict.REJECT:
            raise ContentRefused(f"{path.format(index)}.{one.refused}", one.gate, one.rule, index)
    return screened
