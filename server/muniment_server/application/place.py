"""The place of a memory that is to become live: what is live there now, and what the index needs."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.content import Content
from muniment_server.domain.errors import IntegrityViolation, SlotConflict
from muniment_server.domain.model import MemoryState, Revision
from muniment_server.retrieval.versions import index_terms_of
from muniment_server.storage.corrections import correction_line
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import lock_memory, write_candidates

from .sealing import is_genuine, open_content

_MICROSECOND = timedelta(microseconds=1)
_INLINE_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class Place:
    """`live`: what is live in a memory's place. `moment`: when it gives way, after what happened there."""

    live: Revision | None
    moment: datetime

    def retired(self, by: Revision) -> list[tuple[Revision, Revision]]:
        """What is live, before and after it gave way."""
        if self.live is None:
            return []
        live = self.live
        end = self.moment
        if live.valid_from is not None and live.valid_from > end:
            end = live.valid_from
        if live.valid_to is not None and live.valid_to < end:
            end = live.valid_to
        after = replace(
            live,
            revision=live.revision + 1,
            state=MemoryState.SUPERSEDED,
            superseded_by=by.memory_id,
            valid_to=end,
            update_time=self.moment,
        )
        return [(live, after)]

    @property
    def taken(self) -> datetime:
        """When another memory is live in it: after whatever was, however far clocks are apart."""
        return self.moment + _MICROSECOND


def _everything(_revision: Revision) -> bool:
    return True


async def place_of(
    work: UnitOfWork,
    key: ScopeKey,
    revision: Revision,
    now: datetime,
    without: Collection[UUID] = (),
    tells: Callable[[Revision], bool] = _everything,
) -> Place:
    """The place that a memory of a locked scope would take if it became live, with its text and slot.

    without: memories that are about to leave it. tells: whether the caller may know of a memory.
    What is live there is locked: at the end of its line of corrections, in its slot, or with the same
    statement. Raises SlotConflict when these are different memories, and IntegrityViolation.
    """
    start = [revision.memory_id, *([revision.supersedes] if revision.supersedes else [])]
    line = await correction_line(work, start)
    moment = max([now, revision.update_time, *(member.update_time for member in line)])
    found: dict[UUID, Revision] = {}
    ignored = {revision.memory_id, *without}
    for member in line:
        if member.active and member.memory_id not in ignored:
            locked = await lock_memory(work, member.memory_id)
            if locked is not None:
                found[member.memory_id] = _genuine(work, key, *locked)
    slots = [revision.slot] if revision.slot is not None else []
    for candidate, contradicted in await write_candidates(
        work, revision.scope_id, [revision.statement_hash], slots
    ):
        live = candidate.state is MemoryState.ACTIVE
        if live and candidate.memory_id not in ignored and _stands_for(candidate, revision):
            found[candidate.memory_id] = _genuine(work, key, candidate, contradicted)
    if len(found) > 1:
        in_slot = [one for one in found.values() if one.slot is not None and one.slot == revision.slot]
        other = (in_slot or list(found.values()))[-1]
        raise SlotConflict(str(other.memory_id) if tells(other) else None)
    holder = next(iter(found.values()), None)
    return Place(holder, moment if holder is None else max(moment, holder.update_time))


def _stands_for(candidate: Revision, revision: Revision) -> bool:
    if (candidate.agent, candidate.session) != (revision.agent, revision.session):
        return False
    if revision.slot is not None and candidate.slot == revision.slot:
        return True
    return (candidate.statement_hash, candidate.kind, candidate.slot) == (
        revision.statement_hash,
        revision.kind,
        revision.slot,
    )


def _genuine(work: UnitOfWork, key: ScopeKey, revision: Revision, contradicted: bool) -> Revision:
    if contradicted or not is_genuine(key, work.tenant_id, revision):
        raise IntegrityViolation(str(revision.memory_id))
    return revision


async def frequencies_of(key: ScopeKey, revision: Revision) -> Mapping[int, int]:
    """Token hash → frequency of a genuine revision, for exactly the tokens that it stands in the index with.

    The text tells how often a token occurs. What another version of the analysis or a gate put into the
    index, or kept out of it, stays as the revision has it.
    """
    if len(revision.content_ct) > _INLINE_BYTES:
        return await asyncio.to_thread(_frequencies, key, revision)
    return _frequencies(key, revision)


def _indexed(revision: Revision, content: Content) -> Mapping[str, int]:
    terms = index_terms_of(revision.analyzer, content.indexed, content.speaker)
    return terms.with_slot(revision.slot).frequencies


def _frequencies(key: ScopeKey, revision: Revision) -> Mapping[int, int]:
    content = open_content(key, revision)
    terms = _indexed(revision, content)
    derived = dict(zip(key.token_hashes(list(terms)), terms.values(), strict=True))
    return {token: derived.get(token, 1) for token in revision.tokens}
