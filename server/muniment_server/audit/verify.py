"""Verification of everything that is stored: `verify` for operators, `startup_check` before serving.

Finds what somebody changed who can write to the database and has no keys. Every tenant is looked at in
one snapshot, so that writers at the same time cause no false alarm, and the anchored heads are read
before it, so that whatever they name was committed before. What cannot be found: events deleted from
the queue before they were chained and anchored; changes by whoever holds the keys as well.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Final
from uuid import UUID

from muniment_server.application.consenting import every_told_consent
from muniment_server.crypto.errors import ScopeKeyDestroyed, ScopeKeyMissing
from muniment_server.crypto.key_store import HeadKind, KeyStore
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.consent import Consent
from muniment_server.domain.model import ScopeRow
from muniment_server.storage.database import Database, UnitOfWork
from muniment_server.storage.tenants import tenants
from muniment_server.storage.verification import (
    SNAPSHOT,
    StoredModel,
    broken_successions,
    doubled_slots,
    models,
    scopes,
    strays,
)

from .anchors import DatabaseBehindAnchors, lags_of, startup_check
from .findings import MOST_KEPT, Finding, FindingKind, TenantReport
from .verify_chain import ChainCheck
from .verify_credentials import check_credentials
from .verify_ingests import check_ingests
from .verify_policy import check_policy
from .verify_scope import ScopeCheck

__all__ = [
    "DatabaseBehindAnchors",
    "Finding",
    "FindingKind",
    "TenantReport",
    "startup_check",
    "verify",
]

_SCOPES: Final = 500
_RECHECKS: Final = 3

Progress = Callable[[str, int], None]
"""Told now and then: the tenant's name and how many scopes of it were looked at."""


async def verify(
    database: Database,
    store: KeyStore,
    *,
    tenant: str | None = None,
    deep: bool = False,
    trail_only: bool = False,
    progress: Progress = lambda _tenant, _scopes: None,
) -> AsyncIterator[TenantReport]:
    """One report for each tenant, or for the one that is named.

    database: a pool of the maintenance role. deep: open every memory and derive its hashes and index
    entries again. trail_only: leave the scopes out. Tenants that the key store knows and the database
    does not are reported too. Raises LookupError when the named tenant does not exist.
    """
    heads = await store.heads()
    async with database.transaction(None) as work:
        known = dict(await tenants(work))
    anchored = {head.tenant_id for head in heads if head.kind is not HeadKind.INSTANCE}
    gone = {tenant_id: str(tenant_id) for tenant_id in sorted(anchored - known.keys())}
    chosen = {tenant_id: name for tenant_id, name in (known | gone).items() if tenant in (None, name)}
    if not chosen and tenant is not None:
        raise LookupError(tenant)
    for tenant_id, name in sorted(chosen.items(), key=lambda entry: entry[1]):
        report = TenantReport(tenant_id, name)
        await _TenantCheck(database, store, report, deep, trail_only, progress).run()
        yield report


class _TenantCheck:
    def __init__(
        self,
        database: Database,
        store: KeyStore,
        report: TenantReport,
        deep: bool,
        trail_only: bool,
        progress: Progress,
    ) -> None:
        self._database = database
        self._store = store
        self._models: Mapping[int, StoredModel] = {}
        self._report = report
        self._deep = deep
        self._trail_only = trail_only
        self._progress = progress

    async def run(self) -> None:
        tenant_id, report = self._report.tenant_id, self._report
        heads = await self._store.heads(tenant_id)
        key = await self._store.tenant_key(tenant_id)
        public_keys = await self._store.public_keys()
        again: list[UUID] = []
        async with self._database.transaction(tenant_id, settings=SNAPSHOT) as work:
            # In the same snapshot: a change of model says at one instant which one is in use.
            self._models = await models(work)
            chain = ChainCheck(work, key, heads, public_keys, report)
            await chain.run()
            if not self._trail_only:
                for lag in await lags_of(work, [head for head in heads if head.kind is HeadKind.SCOPE]):
                    self._scope_behind(lag.key, lag.anchored, lag.found)
                await self._whole_tenant(work)
                await check_policy(work, key, report)
                await check_credentials(work, self._store, report)
                await check_ingests(work, self._store, key, chain.ingests, report)
                again = await self._scopes(work, key)
        await self._look_again(again)

    async def _scopes(self, work: UnitOfWork, key: TenantKey) -> list[UUID]:
        """Check all scopes; returns those whose key was gone."""
        again: list[UUID] = []
        decided = await every_told_consent(work, key)
        after: UUID | None = None
        while True:
            page = await scopes(work, after=after, limit=_SCOPES)
            for scope, number in page:
                self._consent(scope, decided.pop(scope.scope_id, Consent()))
                if not await self._scope(work, scope, number):
                    again.append(scope.scope_id)
            self._progress(self._report.name, self._report.scopes)
            if len(page) < _SCOPES:
                break
            after = page[-1][0].scope_id
        for scope_id in decided:
            self._report.add(
                FindingKind.CONSENT,
                "the trail tells of a decision, and its scope is gone",
                scope_id=scope_id,
            )
        return again

    def _consent(self, scope: ScopeRow, told: Consent) -> None:
        try:
            stored: Consent | None = Consent.from_bytes(scope.consent)
        except ValueError:
            stored = None
        if stored != told:
            self._report.add(
                FindingKind.CONSENT,
                "the consent that stands there is not what the trail says was decided",
                scope_id=scope.scope_id,
            )

    def _scope_behind(self, scope_id: UUID, anchored: int, found: int | None) -> None:
        if found is None:
            kind, detail = FindingKind.SCOPE_MISSING, "and is gone"
        else:
            kind = FindingKind.SCOPE_ROLLED_BACK
            detail = f"and stands at {found}" if found < anchored else "and is another one there"
        self._report.add(
            kind, f"the key store saw the scope at generation {anchored}, {detail}", scope_id=scope_id
        )

    async def _whole_tenant(self, work: UnitOfWork) -> None:
        report = self._report
        for scope_id, memory_ids in await doubled_slots(work, MOST_KEPT):
            report.add(
                FindingKind.SLOT_DOUBLED,
                "several live memories hold one slot",
                scope_id=scope_id,
                memory_ids=memory_ids,
            )
        for scope_id, memory_id in await broken_successions(work, MOST_KEPT):
            report.add(
                FindingKind.SUCCESSION,
                "the memory and the one that replaced it do not fit together",
                scope_id=scope_id,
                memory_ids=[memory_id],
            )
        for place, stray_scope, stray_memory in await strays(work, MOST_KEPT):
            report.add(
                FindingKind.STRAY_ROW,
                f"a row of {place} belongs to nothing",
                scope_id=stray_scope,
                memory_ids=[stray_memory] if stray_memory else [],
            )

    async def _scope(self, work: UnitOfWork, scope: ScopeRow, number: int, *, final: bool = False) -> bool:
        """Check a scope; False when its key is gone, which an erasure after the snapshot may explain."""
        try:
            key = await self._store.scope_key(self._report.tenant_id, scope.scope_id, scope.key_epoch)
        except (ScopeKeyDestroyed, ScopeKeyMissing, ValueError) as error:
            if not final:
                return False
            self._report.scopes += 1
            self._report.add(
                FindingKind.SCOPE_KEY,
                f"the scope is of key epoch {scope.key_epoch}, whose key "
                + ("was destroyed by an erasure" if isinstance(error, ScopeKeyDestroyed) else "there is not"),
                scope_id=scope.scope_id,
            )
            return True
        await ScopeCheck(work, key, scope, number, self._models, self._report, deep=self._deep).run()
        return True

    async def _look_again(self, scope_ids: Sequence[UUID]) -> None:
        """Look at scopes whose key was gone once more, in a newer snapshot."""
        waiting = list(scope_ids)
        for attempt in range(_RECHECKS):
            if not waiting:
                return
            left: list[UUID] = []
            async with self._database.transaction(self._report.tenant_id, settings=SNAPSHOT) as work:
                self._models = await models(work)
                page = await scopes(work, scope_ids=waiting, limit=len(waiting))
                for scope, number in page:
                    last = attempt == _RECHECKS - 1
                    if not await self._scope(work, scope, number, final=last):
                        left.append(scope.scope_id)
            waiting = left
