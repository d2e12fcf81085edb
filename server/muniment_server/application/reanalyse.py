"""Derives the index terms of memories anew that another version of the analysis has made.

In place, without a new revision: what a memory says does not change. Each page is one transaction under the
lock of its scope, so a Recall sees a memory with its old terms or with its new ones, and never without.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.model import Revision
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.versions import index_terms_of
from muniment_server.storage.memories import analysed_otherwise, read_scopes

from .scoping import EpochChanged, locked_existing, reading_key
from .sealing import ScopeChange, is_genuine, open_content
from .services import Services

_PAGE = 50


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
