"""The sealer: chains queued audit events in the background and anchors what it chained.

Calls never wait for it. It is told of every committed event, waits a moment so that one transaction
takes many, and looks through all tenants now and then, because a process may have ended between an
event and its place in the chain. Several sealers may run at once: the lock of a chain's head lets one
in at a time, and a head in the key store only moves forward.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from muniment_server.crypto.key_ring import KeyRing
from muniment_server.crypto.key_store import Head, HeadKind
from muniment_server.crypto.signing import SigningKey
from muniment_server.storage.audit_chain import digests_at, lock_head, read_state, scope_heads
from muniment_server.storage.database import Database, UniqueConflict
from muniment_server.storage.tenants import tenants
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.logs import describe_exception
from muniment_server.telemetry.spans import span

from .canonical import CHAIN_START
from .chaining import (
    ChainBehindAnchor,
    CheckpointRule,
    audit_head,
    check_anchor,
    scope_head,
    seal_batch,
)

_log = logging.getLogger("muniment.audit")

# What is read under it is on disk at the commit, whatever the server's own setting is: PostgreSQL writes
# its log in order, so the flush of this commit takes every earlier one along. An anchor is never ahead.
_DURABLE: Final = {"synchronous_commit": "on"}
_TIMEOUT: Final = 30.0
_SIGNING_KEY_SECONDS: Final = 10.0
_SCOPE_PAGE: Final = 5_000
_ANCHOR_AGAIN: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_MOST_REMEMBERED: Final = 10_000

_Place = tuple[UUID, HeadKind, UUID]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Sealer:
    """Chains, signs and anchors the audit events of all tenants.

    database: a pool of the maintenance role.
    delay: seconds between an event and the batch that takes it. sweep_interval: seconds between two looks
    through all tenants.
    """

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        *,
        clock: Callable[[], datetime] = _utc_now,
        delay: float = 0.1,
        sweep_interval: float = 30.0,
        batch_size: int = 250,
        rule: CheckpointRule | None = None,
        parallel: int = 2,
    ) -> None:
        self._database = database
        self._keys = keys
        self._clock = clock
        self._delay = delay
        self._sweep_interval = sweep_interval
        self._batch_size = batch_size
        self._rule = rule or CheckpointRule()
        self._room = asyncio.Semaphore(parallel)
        self._wake = asyncio.Event()
        self._due: dict[UUID, float] = {}
        self._failures: dict[UUID, int] = {}
        self._known: dict[UUID, Head | None] = {}
        self._unanchored: dict[_Place, Head] = {}
        self._behind: set[UUID] = set()
        self._forged: set[UUID] = set()
        self._signing: tuple[float, SigningKey] | None = None
        self._passes: set[asyncio.Future[None]] = set()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    # --- what others call -------------------------------------------------------------------

    def notify(self, tenant_id: UUID) -> None:
        """Say that an event of the tenant was committed. Never waits, never raises."""
        self._schedule(tenant_id, self._delay)

    async def start(self) -> None:
        """Begin; the look through all tenants happens in the background."""
        self._task = asyncio.create_task(self._run(), name="muniment-sealer")

    async def stop(self, timeout: float = 10.0) -> None:
        """Chain, sign and anchor what is there, then end; gives up after `timeout` seconds.

        Whatever is left is taken up by another process or by the next start.
        """
        self._stopping = True
        self._wake.set()
        try:
            async with asyncio.timeout(timeout):
                if self._task is not None:
                    await asyncio.shield(self._task)
                await self.drain()
        except TimeoutError:
            _log.warning("the sealer was stopped before everything was chained; the next start goes on")
        finally:
            if self._task is not None:
                self._task.cancel()
                with suppress(asyncio.CancelledError):
                    await self._task

    async def drain(self) -> None:
        """Chain, sign and anchor what this process has been told of. Errors are logged, not raised."""
        while self._passes:
            await asyncio.wait(self._passes)
        waiting, self._due = list(self._due), {}
        await self._pass(waiting, final=True)

    async def settle(self, tenant_id: UUID) -> bool:
        """Chain, sign and anchor what the tenant has waiting now; tells whether that worked."""
        await self._pass([tenant_id], final=True)
        return tenant_id not in self._failures and tenant_id not in self._behind

    @property
    def behind(self) -> frozenset[UUID]:
        """Tenants whose chain does not hold what was anchored; nothing of theirs is chained."""
        return frozenset(self._behind)

    # --- the loop -----------------------------------------------------------------------------

    def _schedule(self, tenant_id: UUID, seconds: float) -> None:
        when = time.monotonic() + seconds
        planned = self._due.get(tenant_id)
        if tenant_id in self._failures and planned is not None:
            return
        if planned is None or when < planned:
            self._due[tenant_id] = when
            self._wake.set()

    async def _run(self) -> None:
        sweep_at = 0.0
        first = True
        while not self._stopping:
            now = time.monotonic()
            if now >= sweep_at:
                await self._guarded_sweep(first)
                first = False
                sweep_at = time.monotonic() + self._sweep_interval
            due = [tenant_id for tenant_id, when in self._due.items() if when <= time.monotonic()]
            for tenant_id in due:
                del self._due[tenant_id]
            if due or self._unanchored:
                await self._pass(due)
            self._wake.clear()
            pause = min([sweep_at, *self._due.values()]) - time.monotonic()
            if self._unanchored:
                pause = min(pause, _ANCHOR_AGAIN)
            if pause > 0 and not self._stopping:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._wake.wait()

    async def _pass(self, tenant_ids: Iterable[UUID], *, final: bool = False) -> None:
        done = asyncio.get_running_loop().create_future()
        self._passes.add(done)
        try:
            await asyncio.gather(*(self._seal(tenant_id, final) for tenant_id in tenant_ids))
            await self._anchor()
        finally:
            self._passes.discard(done)
            done.set_result(None)

    async def _seal(self, tenant_id: UUID, final: bool) -> None:
        async with self._room:
            try:
                with span(names.SPAN_SEAL):
                    await self._seal_now(tenant_id, final)
            except ChainBehindAnchor as error:
                self._fall_behind(tenant_id, error.anchored, error.found)
            except Exception as error:  # noqa: BLE001 - the loop goes on; the events stay queued
                if isinstance(error, UniqueConflict) and tenant_id not in self._failures:
                    # Somebody else's link stands in the place of the next one.
                    metrics().integrity_violation()
                    _log.error("tenant %s: the audit chain has links that nobody of ours made", tenant_id)
                self._fail(tenant_id, error)
            else:
                self._failures.pop(tenant_id, None)

    async def _seal_now(self, tenant_id: UUID, final: bool) -> None:
        if tenant_id in self._behind:
            return
        key = await self._keys.tenant(tenant_id)
        signing = await self._signing_key()
        await self._learn(tenant_id)
        after: UUID | None = None
        while True:
            now = self._clock()
            async with self._database.transaction(tenant_id, timeout=_TIMEOUT, settings=_DURABLE) as work:
                batch = await seal_batch(
                    work,
                    key,
                    signing,
                    now=now,
                    anchored=self._known[tenant_id],
                    after=after,
                    limit=self._batch_size,
                    rule=None if final else self._rule,
                )
            self._remember(batch.heads(tenant_id, now))
            self._report_forged(tenant_id, batch.forged)
            if not batch.full:
                break
            after = batch.last
        if not batch.signed:
            self._schedule(tenant_id, self._rule.interval / timedelta(seconds=1))

    async def _learn(self, tenant_id: UUID) -> None:
        if tenant_id not in self._known:
            heads = await self._keys.store.heads(tenant_id)
            self._known[tenant_id] = next((one for one in heads if one.kind is HeadKind.AUDIT), None)

    def _remember(self, heads: Iterable[Head]) -> None:
        """Note what is durable now: to be anchored, and for the chain not to be left behind."""
        for head in heads:
            place = (head.tenant_id, head.kind, head.key)
            waiting = self._unanchored.get(place)
            if waiting is None or head.position > waiting.position:
                self._unanchored[place] = head
            if head.kind is HeadKind.AUDIT:
                self._known[head.tenant_id] = head

    async def _signing_key(self) -> SigningKey:
        now = time.monotonic()
        if self._signing is None or self._signing[0] < now:
            self._signing = (now + _SIGNING_KEY_SECONDS, await self._keys.store.signing_key())
        return self._signing[1]

    # --- anchoring ------------------------------------------------------------------------------

    async def _anchor(self) -> None:
        heads, self._unanchored = self._unanchored, {}
        if not heads:
            return
        try:
            refused = await self._keys.store.put_heads(list(heads.values()))
        except Exception as error:  # noqa: BLE001 - kept, and tried again with the next pass
            for place, head in heads.items():
                self._unanchored.setdefault(place, head)
            _log.warning("heads could not be anchored: %s", describe_exception(error))
            return
        for stored in refused:
            try:
                await self._judge(stored)
            except Exception as error:  # noqa: BLE001 - judged again when it refuses again
                _log.warning("a refused head could not be looked into: %s", describe_exception(error))

    async def _judge(self, stored: Head) -> None:
        """A stored head refused ours: another process was faster, or the database has gone back."""
        tenant_id = stored.tenant_id
        async with self._database.transaction(tenant_id, timeout=_TIMEOUT) as work:
            if stored.kind is HeadKind.AUDIT:
                state = await read_state(work)
                there = (await digests_at(work, [stored.position])).get(stored.position)
                found = state.head.sequence if state.head else 0
                holds = there == stored.digest
            else:
                rows = await scope_heads(work, [stored.key])
                found = rows[0].generation if rows else 0
                holds = bool(rows) and (
                    found > stored.position or (found == stored.position and rows[0].seal == stored.digest)
                )
        if holds:
            return
        if stored.kind is HeadKind.AUDIT:
            self._fall_behind(tenant_id, stored.position, found)
        else:
            self._alarm(tenant_id, stored.position, found, stored.key)

    # --- looking through all tenants --------------------------------------------------------------

    async def _guarded_sweep(self, thorough: bool) -> None:
        try:
            async with self._database.transaction(None, timeout=_TIMEOUT) as work:
                everybody = [tenant_id for tenant_id, _ in await tenants(work)]
        except Exception as error:  # noqa: BLE001 - the next sweep looks again
            _log.warning("the sealer could not look through the tenants: %s", describe_exception(error))
            return
        for tenant_id in everybody:
            if self._stopping:
                return
            try:
                await self._look_at(tenant_id, thorough)
            except ChainBehindAnchor as error:
                self._fall_behind(tenant_id, error.anchored, error.found)
            except Exception as error:  # noqa: BLE001 - the other tenants still get their turn
                self._fail(tenant_id, error)

    async def _look_at(self, tenant_id: UUID, thorough: bool) -> None:
        if tenant_id in self._behind:
            # A restore may have been declared meanwhile; if not, the next step finds it again.
            self._behind.discard(tenant_id)
            self._known.pop(tenant_id, None)
        if thorough:
            await self._anchor_what_is_there(tenant_id)
        async with self._database.transaction(tenant_id, timeout=_TIMEOUT) as work:
            state = await read_state(work)
        if state.waiting or (state.head and state.head.sequence > state.signed_sequence):
            self._schedule(tenant_id, 0)

    async def _anchor_what_is_there(self, tenant_id: UUID) -> None:
        """Anchor what a process that ended between its commit and the key store left behind."""
        stored = {(one.kind, one.key): one for one in await self._keys.store.heads(tenant_id)}
        self._known[tenant_id] = known = stored.get((HeadKind.AUDIT, tenant_id))
        now = self._clock()
        async with self._database.transaction(tenant_id, timeout=_TIMEOUT, settings=_DURABLE) as work:
            # The lock makes this a transaction that writes, and so one whose commit flushes.
            chain = await lock_head(work, CHAIN_START)
            await check_anchor(work, chain, known)
            found = [audit_head(tenant_id, chain, now)] if chain.sequence else []
            after: UUID | None = None
            while True:
                page = await scope_heads(work, after=after, limit=_SCOPE_PAGE)
                found += [scope_head(tenant_id, one, now) for one in page]
                if len(page) < _SCOPE_PAGE:
                    break
                after = page[-1].scope_id
        for head in found:
            before = stored.get((head.kind, head.key))
            if before is None or head.position > before.position:
                self._unanchored.setdefault((tenant_id, head.kind, head.key), head)
        if known is None and chain.sequence:
            self._known[tenant_id] = audit_head(tenant_id, chain, now)

    # --- telling --------------------------------------------------------------------------------

    def _fail(self, tenant_id: UUID, error: Exception) -> None:
        count = self._failures.get(tenant_id, 0) + 1
        self._failures[tenant_id] = count
        pause = min(0.25 * 2 ** min(count, 10), _LONGEST_PAUSE)
        self._due[tenant_id] = time.monotonic() + pause
        self._wake.set()
        _log.warning(
            "audit events of tenant %s could not be chained, next try in %.1f s: %s",
            tenant_id,
            pause,
            describe_exception(error),
        )

    def _fall_behind(self, tenant_id: UUID, anchored: int, found: int) -> None:
        self._behind.add(tenant_id)
        for place in [place for place in self._unanchored if place[0] == tenant_id]:
            del self._unanchored[place]
        self._alarm(tenant_id, anchored, found)

    def _alarm(self, tenant_id: UUID, anchored: int, found: int, scope_id: UUID | None = None) -> None:
        metrics().integrity_violation()
        _log.error(
            "tenant %s: %s does not hold what the key store has seen of it (anchored at %d, found %d): older "
            "data was put in place, or data was changed. Run `muniment verify`; if a backup was restored on "
            "purpose, declare it with `muniment restore`.",
            tenant_id,
            f"scope {scope_id}" if scope_id else "the audit chain",
            anchored,
            found,
        )

    def _report_forged(self, tenant_id: UUID, forged: Iterable[UUID]) -> None:
        fresh = [event_id for event_id in forged if event_id not in self._forged]
        if not fresh:
            return
        if len(self._forged) < _MOST_REMEMBERED:
            self._forged.update(fresh)
        metrics().integrity_violation(len(fresh))
        _log.error(
            "%d queued audit events of tenant %s are not what the service wrote (%s ...): they are not "
            "chained. Run `muniment verify`.",
            len(fresh),
            tenant_id,
            fresh[0],
        )
