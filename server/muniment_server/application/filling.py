"""Makes what is missing of one scope's vectors and stores it, unless the scope is erased meanwhile."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.model import EmbeddingState, Revision
from muniment_server.embedding.base import passage_text
from muniment_server.embedding.batching import Outcome
from muniment_server.embedding.cache import Embedded
from muniment_server.embedding.errors import (
    EmbedderOverloaded,
    EmbedderSlow,
    EmbedderUnavailable,
    EmbeddingError,
    TextFailed,
)
from muniment_server.embedding.live import LiveModel
from muniment_server.embedding.turns import work as work_of
from muniment_server.storage.embeddings import EmbeddingRow, fill_embeddings, forget_waiting, without_vector
from muniment_server.storage.memories import lock_scopes, read_scopes

from .scoping import reading_key, scope_number
from .sealing import embedding_row, is_genuine, open_content
from .services import Services
from .vectors import ModelVector, model_vector

_log = logging.getLogger("muniment.reembed")

_PAGE = 32
_WORK = 8192
"""How much a page is, as characters that the model reads: a few seconds, after which others have a turn."""
_PATIENCE = 60.0
_PROBE_PATIENCE = 10.0
_SLOW = 2
"""Texts of a page that may be too slow by themselves before others have a turn."""
_BREATH = 0.2
"""Pause after a page of unhurried work, as a share of the time that the page took."""
_STRIKES = 3
"""Times that a text fails by itself, while the model works for another one, before it is given up."""


@dataclass(slots=True)
class Filled:
    """What was done: vectors stored, and memories that could not be embedded now.

    after: the document behind which to go on; None when the end of the scope was reached. outage: set when
    the embedder works for no text at all; then nothing further was tried.
    """

    stored: int = 0
    failed: int = 0
    after: int | None = None
    outage: EmbedderUnavailable | None = None

    def add(self, other: "Filled") -> None:
        """Count what was done elsewhere. Raises its outage."""
        self.stored += other.stored
        self.failed += other.failed
        if other.outage is not None:
            raise other.outage


@dataclass(slots=True)
class Filler:
    """Fills scopes, one at a time."""

    services: Services
    _strikes: dict[tuple[int, UUID], int] = field(default_factory=dict)
    _probes: int = 0

    async def fill(
        self,
        tenant_id: UUID,
        scope_id: UUID,
        live: LiveModel,
        *,
        missing: bool,
        again: bool = False,
        after: int = -1,
        one_page: bool = False,
        hold: Callable[[], Awaitable[None]] | None = None,
    ) -> Filled:
        """Make what a scope's memories wait for, with `missing` also what they have no row for.

        again: try once more what the model could make nothing of. after, one_page: go on behind a document,
        and make room for others soon. Memories whose seal does not hold are left as they are. Raises what
        `hold` raises, which is asked after each page; with it nothing is hurried.
        """
        services, done = self.services, Filled()
        number = scope_number(scope_id)
        while True:
            async with services.database.transaction(tenant_id, timeout=30.0) as work:
                page = await without_vector(
                    work, scope_id, number, live.model_no, after, _PAGE, missing=missing, again=again
                )
                row = (await read_scopes(work, [scope_id])).get(scope_id) if page else None
                if not page and not missing:
                    await forget_waiting(work, scope_id, number, live.model_no)
            if row is None:
                return done
            key = await reading_key(services.keys, tenant_id, scope_id, row.key_epoch)
            if key is None:
                return done
            begun = asyncio.get_running_loop().time()
            rows, after = await self._made(tenant_id, key, live, page, done)
            if not await self._stored(tenant_id, scope_id, key, rows):
                return done
            done.stored += len(rows)
            if one_page or done.outage is not None:
                done.after = after
                return done
            if hold is not None:
                await hold()
                await asyncio.sleep(_BREATH * (asyncio.get_running_loop().time() - begun))

    async def _made(
        self, tenant_id: UUID, key: ScopeKey, live: LiveModel, page: list[Revision], done: Filled
    ) -> tuple[list[EmbeddingRow], int]:
        """What is to be stored of the beginning of a page, and the last document of that beginning."""
        texts: list[tuple[Revision, str]] = []
        after, size = page[-1].doc_no, 0
        for revision in page:
            if not is_genuine(key, tenant_id, revision):
                continue
            try:
                content = open_content(key, revision)
                text = passage_text(content.indexed, content.speaker)
            except (CiphertextInvalid, ValueError):
                continue
            size += work_of(text)
            if texts and size > _WORK:
                after = texts[-1][0].doc_no
                break
            texts.append((revision, text))
        outcomes: Sequence[Outcome | None] = [None] * len(texts)
        try:
            passages = [text for _, text in texts]
            outcomes = await live.embeddings.outcomes_within(passages, _PATIENCE, tenant_id)
        except EmbedderOverloaded:
            # By what the tenant writes; the outcomes are none for now.
            pass
        except EmbedderUnavailable as error:
            done.outage = error
        rows, slow = [], 0
        for (revision, text), first in zip(texts, outcomes, strict=True):
            outcome = first
            if isinstance(outcome, EmbedderUnavailable):
                outcome = await self._asked_alone(live, tenant_id, text, outcome, done)
                slow += outcome is None
            vector = None
            if isinstance(outcome, Embedded):
                self._strikes.pop((live.model_no, revision.memory_id), None)
                vector = model_vector(live, outcome)
            elif isinstance(outcome, TextFailed):
                vector = self._given_up(live, revision)
            if vector is not None:
                rows.append(embedding_row(key, tenant_id, revision, vector))
                continue
            done.failed += 1
            if slow >= _SLOW and done.outage is None:
                after = revision.doc_no
                break
        return rows, after

    async def _asked_alone(
        self,
        live: LiveModel,
        tenant_id: UUID,
        text: str,
        outcome: EmbedderUnavailable,
        done: Filled,
    ) -> Embedded | TextFailed | None:
        """What became of a text by itself: TextFailed only where the model works for another text.

        None is no verdict: it was too slow, or it works for nothing, which `done` is told.
        """
        failure: Outcome | None = outcome
        if done.outage is not None:
            return None
        try:
            if not isinstance(outcome, TextFailed):
                # Of all texts of its batch; which of them was at fault cannot be told from that.
                (failure,) = await live.embeddings.outcomes_within([text], _PATIENCE, tenant_id)
            if failure is None or isinstance(failure, Embedded):
                return failure
            self._probes += 1
            probe = f"Does the model work? Asked {self._probes} times."
            (works,) = await live.embeddings.outcomes_within([probe], _PROBE_PATIENCE, tenant_id)
        except EmbeddingError as error:
            works = EmbedderUnavailable(*error.args)
        if not isinstance(works, Embedded):
            done.outage = works or EmbedderSlow("the embedder did not answer in time")
            return None
        return None if isinstance(failure, EmbedderSlow) else TextFailed(*outcome.args)

    def _given_up(self, live: LiveModel, revision: Revision) -> ModelVector | None:
        """Count a failure of a text by itself; after the last one, that it has no vector."""
        place = (live.model_no, revision.memory_id)
        self._strikes[place] = strikes = self._strikes.get(place, 0) + 1
        if strikes < _STRIKES:
            return None
        del self._strikes[place]
        _log.warning("a text fails the embedder each time and gets no vector: memory %s", revision.memory_id)
        return ModelVector(
            live.model_no, live.model.name, live.model.dimension, EmbeddingState.NOT_COVERED, None
        )

    async def _stored(self, tenant_id: UUID, scope_id: UUID, key: ScopeKey, rows: list[EmbeddingRow]) -> bool:
        """Store rows; False when the scope was erased meanwhile."""
        if not rows:
            return True
        async with self.services.database.transaction(tenant_id, timeout=30.0) as work:
            locked = (await lock_scopes(work, [scope_id])).get(scope_id)
            if locked is None or locked.key_epoch != key.epoch:
                return False
            await fill_embeddings(work, scope_id, scope_number(scope_id), rows)
        return True
