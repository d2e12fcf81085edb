"""One step of the sealer: a batch of queued events of one tenant becomes links of its chain.

Everything here runs in one transaction that holds the lock of the chain's head.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hmac import compare_digest
from uuid import UUID

from muniment_server.crypto.key_store import Head, HeadKind
from muniment_server.crypto.signing import SigningKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.storage.audit_chain import (
    ChainHead,
    Checkpoint,
    Link,
    ScopeHead,
    Waiting,
    append,
    digests_at,
    insert_checkpoint,
    lock_head,
    newest_checkpoint,
    scope_heads,
    scopes_of_erased,
    waiting_events,
)
from muniment_server.storage.database import UnitOfWork

from .canonical import CHAIN_START, chain_digest, checkpoint_bytes
from .events import AuditAction

CHANGING = frozenset(
    {
        AuditAction.WRITE,
        AuditAction.SUPERSEDE,
        AuditAction.ERASE,
        AuditAction.INGEST,
        AuditAction.RESTORE_MEMORY,
        AuditAction.RETRACT,
        AuditAction.UNDO_WRITE,
        AuditAction.DECIDE_REVIEW,
        AuditAction.SET_CONSENT,
        AuditAction.IMPORT_MEMORIES,
        AuditAction.MAINTENANCE,
    }
)
"""Acts that move a scope on."""
_INLINE_BYTES = 256 * 1024


class ChainBehindAnchor(Exception):
    """The chain does not hold what the key store has seen of it: somebody put older data in place, or
    changed the chain. Nothing is chained on top of it."""

    def __init__(self, tenant_id: UUID, anchored: int, found: int) -> None:
        super().__init__(f"anchored at {anchored}, found {found}")
        self.tenant_id = tenant_id
        self.anchored = anchored
        self.found = found


@dataclass(frozen=True, slots=True)
class CheckpointRule:
    """When a batch ends with a signed state: `every` events or `interval` after the last one."""

    interval: timedelta = timedelta(seconds=1)
    every: int = 100

    def is_due(self, now: datetime, sequence: int, last: tuple[int, datetime | None] | None) -> bool:
        """Whether the chain at `sequence` should be signed, given place and time of the last signature."""
        if last is None:
            return sequence > 0
        place, time = last
        if sequence <= place:
            return False
        return sequence - place >= self.every or time is None or now - time >= self.interval


@dataclass(slots=True)
class Batch:
    """What one step did. `last` is the last event looked at, None when none was waiting."""

    head: ChainHead
    signed: bool
    chained: int = 0
    last: UUID | None = None
    full: bool = False
    forged: list[UUID] = field(default_factory=list)
    scopes: list[ScopeHead] = field(default_factory=list)

    def heads(self, tenant_id: UUID, now: datetime) -> list[Head]:
        """What is to be anchored once the transaction is committed."""
        found = [scope_head(tenant_id, one, now) for one in self.scopes]
        if self.head.sequence:
            found.append(audit_head(tenant_id, self.head, now))
        return found


def audit_head(tenant_id: UUID, head: ChainHead, now: datetime) -> Head:
    """The end of a chain as the key store keeps it."""
    return Head(tenant_id, HeadKind.AUDIT, tenant_id, head.sequence, head.digest, now)


def scope_head(tenant_id: UUID, scope: ScopeHead, now: datetime) -> Head:
    """The state of a scope as the key store keeps it."""
    return Head(tenant_id, HeadKind.SCOPE, scope.scope_id, scope.generation, scope.seal, now)


async def seal_batch(
    work: UnitOfWork,
    key: TenantKey,
    signing: SigningKey,
    *,
    now: datetime,
    anchored: Head | None,
    after: UUID | None = None,
    limit: int = 250,
    rule: CheckpointRule | None,
) -> Batch:
    """Chain up to `limit` waiting events; sign the end of the chain when the rule says so (None: always).

    An event whose mac does not hold gets no place: it stays in the queue, where `muniment verify` names
    it, and is returned in `forged`. Raises ChainBehindAnchor when the chain does not hold `anchored`.
    """
    head = await lock_head(work, CHAIN_START)
    await check_anchor(work, head, anchored)
    waiting = await waiting_events(work, after, limit)
    links, forged = await _link(key, head, waiting)
    batch = Batch(head, False, forged=forged, full=len(waiting) == limit)
    if waiting:
        batch.last = waiting[-1].event_id
    if links:
        chained = [event for event in waiting if event.event_id not in set(forged)]
        await append(work, links)
        batch.head = ChainHead(links[-1].sequence, links[-1].digest)
        batch.chained = len(links)
        batch.scopes = await _moved_scopes(work, chained)
    last = await newest_checkpoint(work, batch.head.sequence)
    unsigned = batch.head.sequence > (last[0] if last else 0)
    if unsigned and (rule is None or rule.is_due(now, batch.head.sequence, last)):
        await sign(work, signing, batch.head, now)
        batch.signed = True
    else:
        batch.signed = not unsigned
    return batch


async def sign(work: UnitOfWork, signing: SigningKey, head: ChainHead, now: datetime) -> None:
    """Queue a signed state of the chain."""
    signed = checkpoint_bytes(work.tenant_id, head.sequence, head.digest, now)
    await insert_checkpoint(
        work, Checkpoint(head.sequence, head.digest, now, signing.key_id, signing.sign_checkpoint(signed))
    )


async def check_anchor(work: UnitOfWork, head: ChainHead, anchored: Head | None) -> None:
    """Raise ChainBehindAnchor unless the chain that ends at `head` holds what was anchored of it."""
    if anchored is None:
        return
    if head.sequence < anchored.position:
        raise ChainBehindAnchor(work.tenant_id, anchored.position, head.sequence)
    there = head.digest
    if head.sequence > anchored.position:
        there = (await digests_at(work, [anchored.position])).get(anchored.position, b"")
    if not compare_digest(there, anchored.digest):
        raise ChainBehindAnchor(work.tenant_id, anchored.position, head.sequence)


async def _link(key: TenantKey, head: ChainHead, waiting: Sequence[Waiting]) -> tuple[list[Link], list[UUID]]:
    if sum(len(event.payload) for event in waiting) > _INLINE_BYTES:
        # Hashing megabytes in the event loop would hold up the calls.
        return await asyncio.to_thread(_link_now, key, head, waiting)
    return _link_now(key, head, waiting)


def _link_now(key: TenantKey, head: ChainHead, waiting: Sequence[Waiting]) -> tuple[list[Link], list[UUID]]:
    links: list[Link] = []
    forged: list[UUID] = []
    sequence, digest = head.sequence, head.digest
    for event in waiting:
        if not compare_digest(key.audit_mac(event.payload), event.mac):
            forged.append(event.event_id)
            continue
        sequence += 1
        digest = chain_digest(digest, sequence, event.payload)
        links.append(Link(sequence, event.event_id, digest))
    return links, forged


async def _moved_scopes(work: UnitOfWork, chained: Sequence[Waiting]) -> list[ScopeHead]:
    changing = [event for event in chained if event.action in CHANGING]
    moved = {event.scope_id for event in changing if event.scope_id is not None}
    # An erasure by ids may reach into several scopes; then the event names none.
    scattered = [event.event_id for event in changing if event.scope_id is None]
    if scattered:
        moved.update(await scopes_of_erased(work, scattered))
    return await scope_heads(work, sorted(moved)) if moved else []
