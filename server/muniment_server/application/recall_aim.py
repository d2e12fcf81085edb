"""Turns an analysed query into what the statement of Recall looks for, and how much each sign counts."""

from collections.abc import Sequence

from pgvector import HalfVector

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain import ranking
from muniment_server.domain.model import Fusion, RetrievalLeg
from muniment_server.domain.ranking import RankingSettings
from muniment_server.domain.settings import TenantSettings
from muniment_server.embedding.base import Calibration
from muniment_server.retrieval.indexing import ASKS
from muniment_server.retrieval.queries import QueryTerms
from muniment_server.storage.recall import Aim

_WORD_LEGS = (RetrievalLeg.LEXICAL, RetrievalLeg.NEIGHBOUR, RetrievalLeg.SESSION)
_TURN_LEGS = (RetrievalLeg.NEIGHBOUR, RetrievalLeg.SESSION)


def take_aim(
    terms: QueryTerms,
    key: ScopeKey | None,
    vector: HalfVector | None,
    calibration: Calibration,
    settings: TenantSettings,
    *,
    legs: Sequence[RetrievalLeg],
    fusion: Fusion,
    limit: int,
) -> Aim:
    """What to look for; without a key there is nothing to find, and no mark to look for it by."""
    scaled = RankingSettings.of(settings.ranking)

    def on(leg: RetrievalLeg) -> bool:
        return leg in legs

    def hashes(marks: Sequence[str], wanted: bool) -> Sequence[int]:
        return key.token_hashes(marks) if key is not None and wanted and marks else ()

    tokens = hashes(terms.words, any(leg in legs for leg in _WORD_LEGS))
    own = _pair(
        calibration,
        scaled.legs[RetrievalLeg.VECTOR] if on(RetrievalLeg.VECTOR) and vector is not None else 0.0,
        scaled.legs[RetrievalLeg.LEXICAL] if on(RetrievalLeg.LEXICAL) and tokens else 0.0,
    )
    around = _pair(calibration, float(vector is not None), float(bool(tokens)))
    turns = any(leg in legs for leg in _TURN_LEGS)
    alone = own == (0.0, 0.0)
    pinned = scaled.weight(RetrievalLeg.SLOT, legs, ranking.PINNED)
    return Aim(
        embedding=vector,
        tokens=tokens,
        # Without its leg a speaker's name is a word like any other.
        speakers=hashes(terms.speakers, on(RetrievalLeg.ENTITY)),
        names=hashes(terms.names, on(RetrievalLeg.ENTITY)),
        roles=hashes(terms.roles, on(RetrievalLeg.ENTITY)),
        slots=hashes(terms.slots, on(RetrievalLeg.SLOT)),
        wanted=hashes(terms.wanted, turns),
        apart=hashes(terms.apart, min(own) > 0),
        asks=(*hashes([ASKS], turns), 0)[0],
        spans=terms.spans if on(RetrievalLeg.TIME) else (),
        cosine_low=calibration.cosine_low,
        cosine_high=calibration.cosine_high,
        vector_weight=own[0],
        lexical_weight=own[1],
        apart_weight=own[1] * ranking.APART,
        around_vector=around[0],
        around_lexical=around[1],
        around_weight=min(0.6, scaled.weight(RetrievalLeg.NEIGHBOUR, legs, ranking.AROUND)),
        turn_room=ranking.TURN_ROOM if turns else 0.0,
        session_weight=scaled.weight(RetrievalLeg.SESSION, legs, ranking.SESSION),
        entity_weight=scaled.weight(RetrievalLeg.ENTITY, legs, ranking.ENTITY),
        time_weight=scaled.weight(RetrievalLeg.TIME, legs, ranking.TIME),
        slot_weight=scaled.weight(RetrievalLeg.SLOT, legs, ranking.SLOT),
        pinned_weight=pinned,
        # Where its leg counts nothing, nothing says that what is pinned applies.
        pinned_most=max(1, int(limit * settings.packing.pinned_share)) if pinned else 0,
        length_weight=ranking.LENGTH if turns else 0.0,
        answer_weight=ranking.ANSWERS if turns else 0.0,
        question_weight=ranking.QUESTION if turns else 0.0,
        reply_weight=ranking.REPLY if turns else 0.0,
        # Where no leg reads the text, or nothing is asked for by it, what is left has to be reason enough.
        time_evidence=1.0 if alone or terms.only_times else 0.5,
        entity_evidence=1.0 if alone else 0.0,
        reciprocal=fusion is Fusion.RRF,
        leg_count=len(legs),
        ranking=scaled,
    )


def _pair(calibration: Calibration, vector: float, lexical: float) -> tuple[float, float]:
    """The weights of nearness and words: calibrated, or all for the one that can say something."""
    if vector and lexical:
        near, words = calibration.vector_weight * vector, calibration.lexical_weight * lexical
        return near / (near + words), words / (near + words)
    return (1.0 if vector else 0.0), (1.0 if lexical else 0.0)
