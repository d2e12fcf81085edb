"""Makes what is missing of one scope's vectors and stores it, unless the scope is erased meanwhile."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.model import EmbeddingState, Revision
from muniment_server.embedding.base import passage_text
from muniment_server.embedding.cache import Embedded
from muniment_server.embedding.errors import EmbedderUnavailable, EmbeddingError
from muniment_server.embedding.live import LiveModel
from muniment_server.storage.embeddings import EmbeddingRow, fill_embeddings, forget_waiting, without_vector
from muniment_server.storage.memories import lock_scopes, read_scopes

from .scoping import reading_key, scope_number
from .sealing import embedding_row, is_genuine, open_content
from .services import Services
from .vectors import ModelVector, model_vector

_log = logging.getLogger("muniment.reembed")

_PAGE = 32
_PATIENCE = 60.0
_BREATH = 0.2
"""Pause after a page of unhurried work, as a share of the time that the page took."""
_STRIKES = 3
"""Times that a text fails alone before it is given up."""


@dataclass(slots=True)
class Filled:
    """What was done: vectors stored, and memories that could not be embedded now."""

    stored: int = 0
    failed: int = 0


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
        hold: Callable[[], Awaitable[None]] | None = None,
    ) -> Filled:
        """Make what a scope's memories wait for, with `missing` also what they have no row for.

        Memories whose seal does not hold are left as they are. Raises EmbeddingError when nothing can be
        embedded at all, and what `hold` raises, which is asked after each page; with it nothing is hurried.
        """
        services, done, after = self.services, Filled(), -1
        number = scope_number(scope_id)
        while True:
            async with services.database.transaction(tenant_id, timeout=30.0) as work:
                page = await without_vector(
                    work, scope_id, number, live.model_no, after, _PAGE, missing=missing
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
            rows = await self._made(tenant_id, key, live, page, done)
            if not await self._stored(tenant_id, scope_id, key, rows):
                return done
            done.stored += len(rows)
            after = page[-1].doc_no
            if hold is not None:
                await hold()
                await asyncio.sleep(_BREATH * (asyncio.get_running_loop().time() - begun))

    async def _made(
        self, tenant_id: UUID, key: ScopeKey, live: LiveModel, page: list[Revision], done: Filled
    ) -> list[EmbeddingRow]:
        texts: list[tuple[Revision, str]] = []
        for revision in page:
            if not is_genuine(key, tenant_id, revision):
                continue
            with suppress(CiphertextInvalid, ValueError):
                content = open_content(key, revision)
                texts.append((revision, passage_text(content.indexed, content.speaker)))
        outage: EmbedderUnavailable | None = None
        made: list[Embedded | None] = [None] * len(texts)
        try:
            made = await live.embeddings.passages_within([text for _, text in texts], _PATIENCE)
        except EmbedderUnavailable as error:
            # Of all of them; that may still be the fault of these texts.
            outage = error
        rows = []
        for (revision, _), embedded in zip(texts, made, strict=True):
            vector = model_vector(live, embedded)
            if vector is None and await self._hopeless(live, revision):
                vector = ModelVector(
                    live.model_no,
                    live.model.name,
                    live.model.dimension,
                    EmbeddingState.NOT_COVERED,
                    None,
                )
            if vector is None:
                done.failed += 1
            else:
                rows.append(embedding_row(key, tenant_id, revision, vector))
        if outage is not None and not rows:
            raise outage
        return rows

    async def _hopeless(self, live: LiveModel, revision: Revision) -> bool:
        """Whether a text has failed again and again with an embedder that works for others."""
        place = (live.model_no, revision.memory_id)
        self._strikes[place] = strikes = self._strikes.get(place, 0) + 1
        if strikes < _STRIKES:
            return False
        self._probes += 1
        try:
            await live.embeddings.passages([f"Does the model work? Asked {self._probes} times."])
        except EmbeddingError:
            return False
        del self._strikes[place]
        _log.warning("a text fails the embedder each time and gets no vector: memory %s", revision.memory_id)
        return True

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
