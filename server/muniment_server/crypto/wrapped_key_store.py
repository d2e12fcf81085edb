"""The key store over any kind of rows: makes keys, wraps them, and asks the rows who was first."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

from .derivation import KEY_BYTES
from .errors import (
    KeyStoreError,
    KeyStoreUnavailable,
    MasterKeyError,
    MasterKeyRetired,
    MasterKeyUnknown,
    ScopeKeyDestroyed,
    ScopeKeyMissing,
    UnwrapFailed,
)
from .key_rows import MAX_EPOCH, KeyRows, PublicKey, Rewrapped, Slot, SlotKind
from .key_store import NO_TENANT, Head, KeyStore, newest_per_key
from .master import MasterKeyProvider, WrappedKey
from .postgres_key_rows import PostgresKeyRows
from .scope_key import ScopeKey
from .signing import SigningKey
from .sqlite_key_rows import SqliteKeyRows
from .tenant_key import TenantKey

_CHECK = Slot(SlotKind.CHECK, NO_TENANT, NO_TENANT)
_CHECK_VALUE = b"muniment key store"
_REWRAP_BATCH = 200
_ATTEMPTS = 5


def key_store_at(location: str | Path, provider: MasterKeyProvider) -> KeyStore:
    """The key store at a PostgreSQL URL, or else in the SQLite file of that path; not yet open."""
    if isinstance(location, str) and location.startswith(("postgresql://", "postgres://")):
        return WrappedKeyStore(PostgresKeyRows(location), provider)
    return WrappedKeyStore(SqliteKeyRows(Path(location)), provider)


class WrappedKeyStore:
    """See KeyStore for what each method promises."""

    def __init__(self, rows: KeyRows, provider: MasterKeyProvider) -> None:
        self._rows = rows
        self._provider = provider

    async def open(self) -> None:
        """Connect, create what is missing, and prove that the master key fits."""
        await self._rows.open()
        try:
            if await self._rows.read(_CHECK) is None:
                await self._rows.add(_CHECK, await self._provider.wrap(_CHECK_VALUE, _CHECK.aad()))
            await self.check()
            # Early, before a process that can make no key sets out to serve.
            if await self._rows.is_retired(self._provider.current_key_id):
                raise MasterKeyRetired(self._provider.current_key_id)
        except BaseException:
            await self._rows.close()
            raise

    async def close(self) -> None:
        """Give everything back."""
        await self._rows.close()

    async def check(self) -> None:
        """Return when the store answers and the master key opens what is in it."""
        wrapped = await self._rows.read(_CHECK)
        if wrapped is None:
            raise KeyStoreError("the key store has lost its check value; was it replaced?")
        try:
            await self._unwrap(_CHECK, wrapped)
        except (MasterKeyUnknown, UnwrapFailed) as error:
            raise MasterKeyError(
                f"this key store belongs to another master key than {self._provider.current_key_id}"
            ) from error

    async def tenant_key(self, tenant_id: UUID) -> TenantKey:
        """The tenant's key, made on first use."""
        slot = Slot(SlotKind.TENANT, tenant_id, tenant_id)
        wrapped = await self._rows.read(slot)
        if wrapped is None:
            wrapped = await self._rows.add(slot, await self._new_key(slot))
        return TenantKey(tenant_id, await self._unwrap(slot, wrapped))

    async def scope_key(
        self, tenant_id: UUID, scope_id: UUID, epoch: int, *, create: bool = False
    ) -> ScopeKey:
        """The key of one epoch of a scope."""
        slot = Slot(SlotKind.SCOPE, tenant_id, scope_id, _checked(epoch))
        wrapped = await self._rows.read(slot)
        if wrapped is None:
            destroyed = await self._rows.destroyed_through(tenant_id, scope_id)
            if destroyed is not None and epoch <= destroyed:
                raise ScopeKeyDestroyed(f"the keys of this scope are destroyed through epoch {destroyed}")
            if not create:
                raise ScopeKeyMissing(f"this scope has no key of epoch {epoch}")
            wrapped = await self._rows.add_scope(slot, await self._new_key(slot))
            if wrapped is None:
                raise ScopeKeyDestroyed(f"the key of epoch {epoch} was destroyed meanwhile")
        return ScopeKey(tenant_id, scope_id, epoch, await self._unwrap(slot, wrapped))

    async def newest_scope_key(self, tenant_id: UUID, scope_id: UUID) -> ScopeKey:
        """The key of the highest epoch that has one."""
        found = await self._rows.read_newest_scope(tenant_id, scope_id)
        if found is None:
            raise ScopeKeyMissing("this scope has no key")
        epoch, wrapped = found
        root = await self._unwrap(Slot(SlotKind.SCOPE, tenant_id, scope_id, epoch), wrapped)
        return ScopeKey(tenant_id, scope_id, epoch, root)

    async def highest_destroyed_epoch(self, tenant_id: UUID, scope_id: UUID) -> int | None:
        """The epoch through which the scope's keys are destroyed."""
        return await self._rows.destroyed_through(tenant_id, scope_id)

    async def destroy_scope_keys(self, tenant_id: UUID, scope_id: UUID, through_epoch: int) -> int:
        """Remove every key of the scope up to this epoch for good."""
        return await self._rows.destroy_scope(tenant_id, scope_id, _checked(through_epoch))

    async def put_heads(self, heads: Sequence[Head]) -> list[Head]:
        """Move heads forward; returns the stored heads that refused."""
        return await self._rows.put_heads(newest_per_key(heads)) if heads else []

    async def heads(self, tenant_id: UUID | None = None) -> list[Head]:
        """All heads of a tenant or of everybody."""
        return await self._rows.heads(tenant_id)

    async def reset_heads(self, tenant_id: UUID | None, heads: Sequence[Head]) -> None:
        """Replace all heads of a tenant, or of everybody."""
        if tenant_id is not None and any(head.tenant_id != tenant_id for head in heads):
            raise ValueError("a head belongs to another tenant")
        await self._rows.reset_heads(tenant_id, newest_per_key(heads))

    async def signing_key(self) -> SigningKey:
        """The installation's signing key, made on first use."""
        return await self._current_signing() or await self._add_signing(None)

    async def rotate_signing_key(self) -> SigningKey:
        """A new signing key; the private half of the old one is destroyed."""
        current = await self._rows.current_signing()
        return await self._add_signing(None if current is None else current.key_id)

    async def public_keys(self) -> dict[str, bytes]:
        """Every public signing key there ever was, by key id."""
        return await self._rows.public_keys()

    async def rewrap(self, provider: MasterKeyProvider) -> int:
        """Wrap every key by the provider's current master key."""
        old, count, stalled = self._provider, 0, 0
        while batch := await self._rows.read_not_wrapped_by(provider.current_key_id, _REWRAP_BATCH):
            changes = []
            for slot, wrapped in batch:
                try:
                    plaintext = await old.unwrap(wrapped, slot.aad())
                except MasterKeyUnknown:
                    plaintext = await provider.unwrap(wrapped, slot.aad())
                changes.append(Rewrapped(slot, wrapped, await provider.wrap(plaintext, slot.aad())))
            done = await self._rows.rewrap(changes)
            count += done
            stalled = 0 if done else stalled + 1
            if stalled == _ATTEMPTS:
                raise KeyStoreUnavailable("the keys are being wrapped by somebody else at the same time")
        await self._rows.forget_old_copies()
        self._provider = provider
        return count

    async def master_keys_in_use(self) -> Mapping[str, int]:
        """How many keys each master key wraps, by its id."""
        return await self._rows.count_by_master()

    async def retire_master_key(self, key_id: str) -> int:
        """Make sure that the master key wraps nothing, now and ever."""
        if key_id == self._provider.current_key_id:
            raise MasterKeyError(f"the master key {key_id} wraps new keys and cannot be retired")
        return await self._rows.retire_master(key_id)

    async def _current_signing(self) -> SigningKey | None:
        for _ in range(_ATTEMPTS):
            current = await self._rows.current_signing()
            if current is None:
                return None
            # A rotation between the two reads takes the private half away; the next round finds the new.
            wrapped = await self._rows.read(current.slot)
            if wrapped is not None:
                key = SigningKey(await self._unwrap(current.slot, wrapped))
                if key.key_id != current.key_id:
                    raise KeyStoreError("the private signing key does not belong to the public one")
                return key
        raise KeyStoreError("the private signing key is lost; rotate it")

    async def _add_signing(self, replaces: str | None) -> SigningKey:
        key = SigningKey.generate()
        slot = Slot(SlotKind.SIGNING, NO_TENANT, UUID(bytes=bytes.fromhex(key.key_id) + bytes(8)))
        wrapped = await self._provider.wrap(key.private_bytes(), slot.aad())
        await self._rows.add_signing(PublicKey(key.key_id, key.public_bytes, slot), wrapped, replaces)
        current = await self._current_signing()
        if current is None:
            raise KeyStoreError("the key store has lost its signing key; was it replaced?")
        return current

    async def _new_key(self, slot: Slot) -> WrappedKey:
        return await self._provider.wrap(os.urandom(KEY_BYTES), slot.aad())

    async def _unwrap(self, slot: Slot, wrapped: WrappedKey) -> bytes:
        return await self._provider.unwrap(wrapped, slot.aad())


def _checked(epoch: int) -> int:
    if not 0 <= epoch <= MAX_EPOCH:
        raise ValueError("a key epoch has 63 bits")
    return epoch
