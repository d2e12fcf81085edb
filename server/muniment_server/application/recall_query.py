"""The query of a Recall as vectors and terms: what the statement looks for."""

import logging

from pgvector import HalfVector

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.errors import EmbedderUnavailable, EmbeddingModelMismatch, MunimentError
from muniment_server.domain.model import RetrievalLeg
from muniment_server.domain.settings import TenantSettings
from muniment_server.embedding.errors import EmbeddingError, QueryLate
from muniment_server.embedding.live import LiveModel
from muniment_server.identity.principal import CallContext
from muniment_server.retrieval.queries import QueryTerms, analyse_query
from muniment_server.retrieval.versions import OLDEST_VERSION, query_terms
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import embeddings_span

from .recall_aim import take_aim
from .recall_types import Degradation, DegradationReason, Query, RecallCommand, Stage
from .services import Services
from .vectors import given_vector

_log = logging.getLogger("muniment.recall")

_EMBED_SHARE = 0.6
VECTOR_LEGS = (RetrievalLeg.VECTOR, RetrievalLeg.NEIGHBOUR, RetrievalLeg.SESSION)


async def embed_query(
    live: LiveModel, context: CallContext, command: RecallCommand
) -> tuple[HalfVector | None, list[Degradation]]:
    """The vector of the query, and what is wrong with it. Waits for a share of the deadline."""
    if not any(leg in VECTOR_LEGS for leg in command.legs):
        return None, []
    if command.query_embedding is not None:
        return given_vector(command.query_embedding), []

    def less(reason: DegradationReason) -> list[Degradation]:
        return [Degradation(Stage.QUERY_EMBEDDING, RetrievalLeg.VECTOR, reason)]

    def without(reason: DegradationReason) -> tuple[None, list[Degradation]]:
        return None, less(reason)

    model = live.model
    with embeddings_span(
        names.PROVIDER_MUNIMENT, model.name, dimensions=model.dimension, batch_size=1
    ) as span:
        try:
            patience = context.remaining() * _EMBED_SHARE
            embedded = await live.embeddings.query_within(command.query, patience, context.tenant_id)
        except QueryLate:
            span.fail("timeout")
            return without(DegradationReason.DEADLINE)
        except (EmbeddingError, MunimentError) as error:
            span.fail(type(error).__name__)
            return without(DegradationReason.EMBEDDER_UNAVAILABLE)
    if embedded.vector is None:
        return without(DegradationReason.QUERY_NOT_COVERED)
    return HalfVector(embedded.vector), less(DegradationReason.QUERY_TRUNCATED) if embedded.truncated else []


async def embed_anew(
    services: Services, before: LiveModel, context: CallContext, command: RecallCommand
) -> tuple[LiveModel, tuple[HalfVector | None, list[Degradation]]]:
    """Embed for the model that is in use by now; without one that this process has loaded go on without."""
    try:
        live = await services.changed_model(before)
    except EmbedderUnavailable:
        reason = DegradationReason.EMBEDDER_UNAVAILABLE
        return before, (None, [Degradation(Stage.QUERY_EMBEDDING, RetrievalLeg.VECTOR, reason)])
    if command.query_embedding is not None:
        raise EmbeddingModelMismatch(
            model=before.model.name,
            dimension=before.model.dimension,
            expected_model=live.model.name,
            expected_dimension=live.model.dimension,
        )
    return live, await embed_query(live, context, command)


def take_query(
    services: Services,
    live: LiveModel,
    command: RecallCommand,
    key: ScopeKey | None,
    embedded: tuple[HalfVector | None, list[Degradation]],
    settings: TenantSettings,
) -> Query:
    """The query with all that the statement looks for."""
    found = list(embedded[1])
    terms = QueryTerms()
    if key is not None and command.query:
        try:
            # What a revision of the past was indexed with stays as it was.
            oldest = OLDEST_VERSION if command.as_of else services.models.oldest_analyzer
            words = query_terms(command.query, oldest)
            reference = command.reference_time or services.clock()
            terms = analyse_query(command.query, words, reference, command.time_zone, oldest)
        except Exception as error:  # the other legs answer, if there is one
            if embedded[0] is None:
                raise
            _log.error("a query could not be analysed: %s", type(error).__name__)
            # Around a turn and in its session its words are not looked at either; the vectors still are.
            found += [
                Degradation(Stage.LEG, leg, DegradationReason.FAILED)
                for leg in RetrievalLeg
                if leg in command.legs and leg is not RetrievalLeg.VECTOR
            ]
    aim = take_aim(
        terms,
        key,
        embedded[0],
        live.model.calibration,
        settings,
        legs=command.legs,
        fusion=command.fusion,
        limit=command.limit,
    )
    return Query(live, aim, degraded=found)
