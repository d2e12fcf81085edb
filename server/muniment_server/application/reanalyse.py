"""Derives the index terms of memories anew that another version of the analysis has made.

In place, without a new revision: what a memory says does not change. Each page is one transaction under the
lock of its scope, so a Recall sees a memory with its old terms or with its new ones, and never without.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.model import Revision
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.versions import index_terms_of
from muniment_server.storage.database import Database
from muniment_server.storage.memories import analysed_otherwise, read_scopes
from muniment_server.storage.reindexing import (
    reopen_analyzer,
    settle_analyzer,
    transactions,
)

from .models import ModelKeeper
from .scoping import EpochChanged, locked_existing, reading_key
from .sealing import ScopeChange, is_genuine, open_content
from .services import Services

_log = logging.getLogger("muniment.reanalyse")

_PAGE = 50
_REST, _MOST_REST = 25.0, 3_600.0
"""How long it is not looked for what came late; doubled each time that there was some."""


@dataclass(slots=True)
class Reanalysis:
    """Brings memories that older versions of the analysis have seen to this one, in the background."""

    services: Services
    keeper: ModelKeeper
    maintenance: Database | None
    _settled: int = 0
    _looked: float = float("-inf")
    _rest: float = _REST

    def wake(self) -> None:
        """Look for what came late when asked next."""
        self._looked = float("-inf")

    async def step(self, scopes: AsyncIterator[tuple[UUID, UUID, int]]) -> bool:
        """Derive terms anew until all are of this version; tells whether to look again soon."""
        if self.maintenance is None or self.services.models.oldest_analyzer >= ANALYZER_VERSION:
            return False
        oldest, bound = await transactions(self.maintenance)
        # What a transaction writes that had begun before the first look is not overlooked.
        self._settled = self._settled or bound
        done = 0
        async for tenant_id, scope_id, _ in scopes:
            done += await reanalyse_scope(self.services, tenant_id, scope_id)
        if done or oldest < self._settled:
            return True
        await settle_analyzer(self.maintenance, ANALYZER_VERSION)
        await self.keeper.refresh()
        _log.info("every memory is analysed by version %d", ANALYZER_VERSION)
        return False

    def begin_look(self) -> bool:
        """Whether it is time to look for what a process of an older version wrote after all had been brought
        to this one. Whoever hears so looks now, and tells `looked`."""
        now = asyncio.get_running_loop().time()
        if self.maintenance is None or self.services.models.oldest_analyzer < ANALYZER_VERSION:
            return False
        if now - self._looked < self._rest:
            return False
        self._looked = now
        return True

    async def looked(self, oldest: int | None) -> None:
        """Hear of the oldest version before this one that was found; None: there was none.

        From then on queries are read by both versions again, until `step` is through. What cannot be
        brought to this version, since its seal does not hold, is come back to less and less often.
        """
        if self.maintenance is None or oldest is None:
            self._rest = _REST
            return
        self._rest = min(self._rest * 2, _MOST_REST)
        self._settled = 0
        await reopen_analyzer(self.maintenance, oldest)
        await self.keeper.refresh()
        _log.info("memories of version %d of the analysis were written meanwhile", oldest)


async def reanalyse_scope(services: Services, tenant_id: UUID, scope_id: UUID) -> int:
    """Bring all memories of a scope to this version; returns how many were not of it.

    Memories whose seal does not hold are left as they are, and so is a scope whose row's does not.
    """
    done, after = 0, -1
    while True:
        async with services.database.transaction(tenant_id, timeout=60.0) as work:
            row = (await read_scopes(work, [scope_id])).get(scope_id)
            key = await reading_key(services.keys, tenant_id, scope_id, row.key_epoch) if row else None
            if key is None:
                return done
            try:
                locked = await locked_existing(work, key, scope_id)
            except (EpochChanged, IntegrityViolation):
                return done
            page = await analysed_otherwise(work, scope_id, ANALYZER_VERSION, after, _PAGE)
            derived = await asyncio.to_thread(_derived, key, tenant_id, page)
            if derived:
                change = ScopeChange(key, tenant_id, locked)
                await change.reanalyse(work, derived)
                await change.close(work, services.clock())
            done += len(derived)
        if len(page) < _PAGE:
            return done
        after = page[-1].doc_no
        await asyncio.sleep(0)


def _derived(
    key: ScopeKey, tenant_id: UUID, page: Sequence[Revision]
) -> list[tuple[Revision, Revision, Mapping[int, int]]]:
    """Each genuine memory before and after, with the frequencies of its new terms."""
    found: list[tuple[Revision, Revision, Mapping[int, int]]] = []
    for revision in page:
        if not is_genuine(key, tenant_id, revision):
            continue
        with suppress(CiphertextInvalid, ValueError):
            content = open_content(key, revision)
            terms = index_terms_of(ANALYZER_VERSION, content.indexed, content.speaker).with_slot(
                revision.slot
            )
            hashes = key.token_hashes(list(terms.frequencies))
            after = replace(
                revision, analyzer=ANALYZER_VERSION, term_count=terms.length, tokens=tuple(hashes)
            )
            found.append((revision, after, dict(zip(hashes, terms.frequencies.values(), strict=True))))
    return found
