"""Fills large subjects without the RPCs: with genuine rows, sealed and indexed by the service's own code.

The first memories of a subject are written through the service, which makes its scope and key; the others
are like them, with texts and vectors of their own, and stand in its statistics and set digest. There are no
audit events of them.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self
from uuid import UUID

import numpy as np
from pgvector import HalfVector

from bench.bare import Owner
from muniment_server.application.sealing import ScopeChange, encrypt_content
from muniment_server.application.vectors import ModelVector
from muniment_server.bootstrap import key_store, master_keys
from muniment_server.config import Settings
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import EmbeddingState
from muniment_server.embedding.base import EmbeddingModel
from muniment_server.retrieval.indexing import index_terms
from muniment_server.storage.database import Database
from muniment_server.storage.memories import lock_scopes, read_memories

_BATCH = 500


class Loader:
    """Adds memories to subjects of an installation."""

    def __init__(self, database: Database, keys: KeyRing, tenant_id: UUID, model: EmbeddingModel) -> None:
        self._database = database
        self._keys = keys
        self._tenant_id = tenant_id
        self._model = model

    @classmethod
    async def of(cls, stack: AsyncExitStack, settings: Settings, owner: Owner, model: EmbeddingModel) -> Self:
        """With the keys of the installation, and a connection of the service's role."""
        store = key_store(settings, master_keys(settings))
        await store.open()
        stack.push_async_callback(store.close)
        database = Database(owner.app_conninfo, max_size=1)
        await database.open()
        stack.push_async_callback(database.close)
        return cls(database, KeyRing(store), owner.tenant_id, model)

    async def add(
        self, like: UUID, texts: Sequence[str], vectors: np.ndarray, tags: Sequence[Sequence[str]]
    ) -> list[UUID]:
        """Add memories like the one with this id to its subject; their ids."""
        ids: list[UUID] = []
        for begin in range(0, len(texts), _BATCH):
            part = slice(begin, begin + _BATCH)
            ids += await self._batch(like, texts[part], vectors[part], tags[part])
        return ids

    async def _batch(
        self, like: UUID, texts: Sequence[str], vectors: np.ndarray, tags: Sequence[Sequence[str]]
    ) -> list[UUID]:
        now = datetime.now(UTC)
        async with self._database.transaction(self._tenant_id) as work:
            template = (await read_memories(work, [like]))[0][0]
            scope = (await lock_scopes(work, [template.scope_id]))[template.scope_id]
            key = await self._keys.current(self._tenant_id, scope.scope_id)
            assert key is not None
            change = ScopeChange(key, self._tenant_id, scope)
            revisions = []
            frequencies = {}
            for number, text in enumerate(texts):
                terms = index_terms(text)
                memory_id = new_id()
                hashed = dict(
                    zip(key.token_hashes(list(terms.frequencies)), terms.frequencies.values(), strict=True)
                )
                frequencies[memory_id] = hashed
                revisions.append(
                    replace(
                        template,
                        memory_id=memory_id,
                        doc_no=scope.next_doc + number,
                        tags=tuple(tags[number]),
                        create_time=now,
                        update_time=now,
                        term_count=terms.length,
                        tokens=tuple(hashed),
                        statement_hash=memory_id.bytes,
                        content_ct=encrypt_content(key, memory_id, text, None, None),
                    )
                )
            made = await change.create(work, revisions, frequencies)
            await change.embed(
                work,
                [
                    (
                        one,
                        [
                            ModelVector(
                                1,
                                self._model.name,
                                self._model.dimension,
                                EmbeddingState.READY,
                                HalfVector(vector),
                            )
                        ],
                    )
                    for one, vector in zip(made, vectors, strict=True)
                ],
            )
            await change.close(work, now, scope.next_doc + len(texts))
        return [one.memory_id for one in made]
