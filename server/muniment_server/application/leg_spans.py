"""Tells in the trace what each leg of a Recall gave."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from muniment_server.domain.model import RetrievalLeg
from muniment_server.storage.recall import Candidate
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import leg_span

_RAW: Final[Mapping[RetrievalLeg, Callable[[Candidate], float | None]]] = {
    RetrievalLeg.VECTOR: lambda one: one.cosine,
    RetrievalLeg.LEXICAL: lambda one: one.bm25,
    RetrievalLeg.SLOT: lambda one: (one.slot_named or 0.0) if one.slot_part else None,
    RetrievalLeg.ENTITY: lambda one: one.entity if one.entity_part else None,
    RetrievalLeg.TIME: lambda one: one.named_time if one.time_part else None,
    RetrievalLeg.NEIGHBOUR: lambda one: one.around if one.around_weight else None,
    RetrievalLeg.SESSION: lambda one: one.session_fit if one.session_part else None,
}
"""The measure that a leg took of a candidate; None where it had nothing to say."""


def tell_legs(legs: Sequence[RetrievalLeg], candidates: Sequence[Candidate], fetch: int) -> None:
    """One span for each leg that was asked for, with how many candidates it had something to say of.

    All legs are one statement, so that these spans tell counts and scores and last no time.
    """
    for leg in sorted(set(legs)):
        with leg_span(leg.name.lower(), top_k=fetch) as span:
            if not span.recording:
                return
            raw = [score for score in map(_RAW[leg], candidates) if score is not None]
            span.update(
                {
                    names.LEG_RESULTS: len(raw),
                    names.LEG_SCORE_MAX: max(raw, default=None),
                    names.LEG_SCORE_MIN: min(raw, default=None),
                }
            )
