"""The vectors of what is written: given by the caller, made within the call, or left to be made after it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
from pgvector import HalfVector

from muniment_server.domain.errors import EmbedderUnavailable, Overloaded
from muniment_server.domain.model import EmbeddingState, NewMemory
from muniment_server.embedding.base import passage_text
from muniment_server.embedding.cache import Embedded
from muniment_server.embedding.errors import EmbedderOverloaded, EmbeddingError
from muniment_server.embedding.live import LiveModel, Models
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import embeddings_span

_SHARE = 0.5
"""Of the time that a call has left, what it may spend on waiting for vectors."""
_UPCOMING_PATIENCE = 0.05
"""Seconds that a write waits longer for the vectors of the model that is being changed to."""


@dataclass(frozen=True, slots=True)
class WritePolicy:
    """What a Write does when its vectors are not there in time.

    require: fail with EmbedderUnavailable, instead of storing the memories as waiting for their vectors.
    patience: seconds that a Write waits. backlog: how many memories of a tenant may wait before its Writes
    fail all the same (of all tenants: twice as many), so that an embedder that is too slow is felt by who
    overloads it.
    """

    require: bool = False
    patience: float = 3.0
    backlog: int = 10_000


@dataclass(frozen=True, slots=True)
class ModelVector:
    """What one model made of a text; `vector` is None when it cannot read it."""

    model_no: int
    model: str
    dimension: int
    state: EmbeddingState
    vector: HalfVector | None


@dataclass(frozen=True, slots=True)
class ItemVector:
    """What is known of an item's vectors when it is stored: of the model in use, and of an upcoming one.

    state: for the model in use. made: what to store; a model that is not there waits.
    """

    state: EmbeddingState
    made: tuple[ModelVector, ...] = ()


@dataclass(slots=True)
class Backlog:
    """How many memories this process has stored without their vectors that still wait for them.

    size: of all tenants.
    """

    size: int = 0
    _of: Counter[UUID] = field(default_factory=Counter)

    def add(self, tenant_id: UUID, count: int) -> None:
        """So many more of a tenant wait, or fewer."""
        self.size += count
        self._of[tenant_id] += count
        if self._of[tenant_id] <= 0:
            del self._of[tenant_id]

    def has_room(self, tenant_id: UUID, count: int, most: int) -> bool:
        """Whether so many more may wait: `most` of a tenant, and twice as many of all."""
        return self._of[tenant_id] + count <= most and self.size + count <= 2 * most


async def vectors(
    models: Models,
    items: Sequence[NewMemory],
    policy: WritePolicy,
    backlog: Backlog,
    remaining: float,
    *,
    tenant_id: UUID,
) -> list[ItemVector]:
    """What each item is stored with.

    remaining: seconds that the call has. tenant_id: in whose turns the texts are embedded. Raises Overloaded
    when too many texts wait already, and EmbedderUnavailable when vectors are required and not made; then
    nothing may be stored.
    """
    current, upcoming = models.current, models.upcoming
    wanted = [index for index, item in enumerate(items) if item.embedding is None]
    texts = [passage_text(items[index].indexed, items[index].speaker) for index in wanted]
    patience = min(policy.patience, remaining * _SHARE)
    further = (
        asyncio.create_task(
            upcoming.embeddings.passages_within(
                [passage_text(item.indexed, item.speaker) for item in items], patience, tenant_id
            )
        )
        if upcoming is not None
        else None
    )
    if further is not None:
        # What it raises is not the write's business; asked for here, so that asyncio does not report it.
        further.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        wait = remaining if policy.require else patience
        fresh = await _made(current, texts, wait, policy, backlog, tenant_id)
        also: Sequence[Embedded | None] = [None] * len(items)
        if further is not None:
            with suppress(TimeoutError, EmbeddingError):
                async with asyncio.timeout(_UPCOMING_PATIENCE):
                    also = await further
    finally:
        if further is not None:
            further.cancel()
    made = dict(zip(wanted, fresh, strict=True))
    results = []
    for index, item in enumerate(items):
        found = (
            _given(current, item.embedding)
            if item.embedding is not None
            else model_vector(current, made[index])
        )
        second = model_vector(upcoming, also[index]) if upcoming is not None else None
        results.append(
            ItemVector(
                found.state if found is not None else EmbeddingState.PENDING,
                tuple(one for one in (found, second) if one is not None),
            )
        )
    return results


async def _made(
    live: LiveModel,
    texts: Sequence[str],
    patience: float,
    policy: WritePolicy,
    backlog: Backlog,
    tenant_id: UUID,
) -> Sequence[Embedded | None]:
    if not texts:
        return []
    model = live.model
    with embeddings_span(
        names.PROVIDER_MUNIMENT, model.name, dimensions=model.dimension, batch_size=len(texts)
    ) as span:
        failure: EmbeddingError | None = None
        made: Sequence[Embedded | None] = [None] * len(texts)
        try:
            made = await live.embeddings.passages_within(texts, patience, tenant_id)
        except EmbedderOverloaded:
            raise Overloaded("embedder") from None
        except EmbeddingError as error:
            failure = error
            span.fail(type(error).__name__)
        late = sum(one is None for one in made)
        if late and policy.require:
            raise EmbedderUnavailable from failure
        if late and not backlog.has_room(tenant_id, late, policy.backlog):
            if failure is not None:
                raise EmbedderUnavailable from failure
            raise Overloaded("embedder")
    return made


def model_vector(live: LiveModel, embedded: Embedded | None) -> ModelVector | None:
    """What a model made of a text, as it is stored; None for what it has not made yet."""
    if embedded is None:
        return None
    if embedded.vector is None:
        return _of(live, EmbeddingState.NOT_COVERED, None)
    state = EmbeddingState.PARTIAL if embedded.truncated else EmbeddingState.READY
    return _of(live, state, HalfVector(embedded.vector))


def _given(live: LiveModel, raw: bytes) -> ModelVector | None:
    vector = given_vector(raw)
    # Of another length when the model in use has changed since the request was checked.
    return _of(live, EmbeddingState.READY, vector) if vector.dimensions() == live.model.dimension else None


def _of(live: LiveModel, state: EmbeddingState, vector: HalfVector | None) -> ModelVector:
    return ModelVector(live.model_no, live.model.name, live.model.dimension, state, vector)


def given_vector(raw: bytes) -> HalfVector:
    """A caller's vector (float32, little endian); its model and length were checked with the request."""
    return HalfVector(np.frombuffer(raw, dtype="<f4"))
