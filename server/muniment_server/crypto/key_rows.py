"""What a key store needs of the place it keeps its rows in. Knows wrapped keys only."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from struct import Struct
from typing import Protocol
from uuid import UUID

from .framing import frame
from .key_store import Head
from .master import WrappedKey

SCHEMA_VERSION = 1
"""Of the tables; raise it with a migration step in each implementation."""

BUSY_SECONDS = 10.0
"""How long a lock held by another process is waited for."""

MAX_EPOCH = (1 << 63) - 1
_EPOCH = Struct(">q")


class SlotKind(StrEnum):
    """What a wrapped value is."""

    CHECK = "check"
    TENANT = "tenant"
    SCOPE = "scope"
    SIGNING = "signing"


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a wrapped value."""

    kind: SlotKind
    tenant_id: UUID
    item_id: UUID
    epoch: int = 0

    def aad(self) -> bytes:
        """Associated data, so that a value moved to another place does not open."""
        return frame(
            b"muniment.key-store.v1",
            self.kind.encode(),
            self.tenant_id.bytes,
            self.item_id.bytes,
            _EPOCH.pack(self.epoch),
        )


@dataclass(frozen=True, slots=True)
class Rewrapped:
    """A value whose wrapping changes, provided that it is still the old one."""

    slot: Slot
    old: WrappedKey
    new: WrappedKey


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public signing key and the slot of its private half."""

    key_id: str
    public_bytes: bytes
    slot: Slot


class KeyRows(Protocol):
    """Rows of a key store; each method is one transaction, durable when it returns.

    Errors of the place come out as KeyStoreUnavailable.
    """

    async def open(self) -> None:
        """Connect and create the tables."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...

    async def read(self, slot: Slot) -> WrappedKey | None:
        """The value in a slot."""
        ...

    async def add(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey:
        """Fill an empty slot; returns what is in it then, perhaps somebody else's."""
        ...

    async def read_newest_scope(self, tenant_id: UUID, scope_id: UUID) -> tuple[int, WrappedKey] | None:
        """The highest epoch with a key, and the key."""
        ...

    async def add_scope(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey | None:
        """As `add`, for a scope's key; None when its epoch is destroyed."""
        ...

    async def destroyed_through(self, tenant_id: UUID, scope_id: UUID) -> int | None:
        """The epoch through which a scope's keys are destroyed."""
        ...

    async def destroy_scope(self, tenant_id: UUID, scope_id: UUID, through_epoch: int) -> int:
        """Note the destruction, delete the keys, and leave no copy; returns how many were deleted."""
        ...

    async def put_heads(self, heads: Sequence[Head]) -> list[Head]:
        """Store those (one per key) that move forward; returns the stored ones that refused."""
        ...

    async def heads(self, tenant_id: UUID | None) -> list[Head]:
        """Heads of a tenant or of all, ordered."""
        ...

    async def reset_heads(self, tenant_id: UUID | None, heads: Sequence[Head]) -> None:
        """Replace the heads (one per key) of a tenant or of all."""
        ...

    async def current_signing(self) -> PublicKey | None:
        """The public half of the signing key in use."""
        ...

    async def add_signing(self, key: PublicKey, wrapped: WrappedKey, replaces: str | None) -> None:
        """Make it the current one if `replaces` still is (None: if there is none), and delete the private
        half of that, leaving no copy. Otherwise do nothing."""
        ...

    async def public_keys(self) -> dict[str, bytes]:
        """All public signing keys by id."""
        ...

    async def read_not_wrapped_by(self, master_id: str, limit: int) -> list[tuple[Slot, WrappedKey]]:
        """Some values that another master key wraps."""
        ...

    async def rewrap(self, changes: Sequence[Rewrapped]) -> int:
        """Exchange wrappings that have not changed meanwhile; returns how many."""
        ...

    async def forget_old_copies(self) -> None:
        """Make sure that deleted and replaced values stand in no file that is ours to clean."""
        ...

    async def count_by_master(self) -> dict[str, int]:
        """Number of values per master key."""
        ...

    async def retire_master(self, master_id: str) -> int:
        """Refuse values of this master key from now on, unless some are there; returns how many there are.

        Then `add`, `add_scope`, `add_signing` and `rewrap` raise MasterKeyRetired for it.
        """
        ...

    async def is_retired(self, master_id: str) -> bool:
        """Whether values of this master key are refused."""
        ...
