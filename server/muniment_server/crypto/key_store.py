"""The key store: small, apart from the data, and the only place where keys are kept.

What is in it: one random key per tenant and per (scope, epoch), each wrapped by a master key; how far
the epochs of a scope were destroyed; the signing key; and the heads, which say up to where the audit
chains and scopes had come, so that a database put back to an older state is noticed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from .master import MasterKeyProvider
from .scope_key import ScopeKey
from .signing import SigningKey
from .tenant_key import TenantKey

NO_TENANT = UUID(int=0)
"""The tenant of heads that belong to the installation (kind INSTANCE)."""


class HeadKind(StrEnum):
    """What a head is the head of."""

    AUDIT = "audit"
    SCOPE = "scope"
    INSTANCE = "instance"


@dataclass(frozen=True, slots=True)
class Head:
    """Where something that only grows had come to.

    `key` is the scope's id, or the tenant's for its audit chain; `position` the chain's sequence number
    or the scope's generation (0 to 2**63-1); `digest` what stood there (1 to 64 bytes).
    """

    tenant_id: UUID
    kind: HeadKind
    key: UUID
    position: int
    digest: bytes
    time: datetime

    def __post_init__(self) -> None:
        if not 0 <= self.position < 1 << 63 or not 1 <= len(self.digest) <= 64:
            raise ValueError("a head has a position of 63 bits and a digest of 1 to 64 bytes")
        if self.time.utcoffset() is None:
            raise ValueError("the time of a head has a time zone")

    def same_place(self, other: "Head") -> bool:
        """Whether both say the same, whenever it was anchored."""
        return (self.tenant_id, self.kind, self.key, self.position, self.digest) == (
            other.tenant_id,
            other.kind,
            other.key,
            other.position,
            other.digest,
        )


class KeyStore(Protocol):
    """Keys and heads. Safe for several processes at once; every method is one atomic step.

    A method that returns has made its effect durable. All raise KeyStoreUnavailable when the store does
    not answer in time, MasterKeyUnknown or UnwrapFailed when a key cannot be unwrapped.
    """

    async def open(self) -> None:
        """Connect, create what is missing, and prove that the master key fits.

        Raises MasterKeyRetired when the current key of the provider is retired.
        """
        ...

    async def close(self) -> None:
        """Give everything back; the object cannot be opened again."""
        ...

    async def check(self) -> None:
        """Return when the store answers and the master key opens what is in it; for readiness."""
        ...

    async def tenant_key(self, tenant_id: UUID) -> TenantKey:
        """The tenant's key, made on first use; the same for every process."""
        ...

    async def scope_key(
        self, tenant_id: UUID, scope_id: UUID, epoch: int, *, create: bool = False
    ) -> ScopeKey:
        """The key of one epoch. Raises ScopeKeyDestroyed; ScopeKeyMissing when absent and not `create`."""
        ...

    async def newest_scope_key(self, tenant_id: UUID, scope_id: UUID) -> ScopeKey:
        """The key of the highest epoch that has one: a guess at the current epoch, which the database
        decides. Raises ScopeKeyMissing when no epoch has a key."""
        ...

    async def highest_destroyed_epoch(self, tenant_id: UUID, scope_id: UUID) -> int | None:
        """The epoch through which the scope's keys are destroyed; None when they never were.

        After old data were restored, the scope's epoch must be raised above it.
        """
        ...

    async def destroy_scope_keys(self, tenant_id: UUID, scope_id: UUID, through_epoch: int) -> int:
        """Remove every key of the scope up to this epoch for good; returns how many there were.

        No key can be made for these epochs any more. Calling again is harmless and returns 0; call again
        when it raised, since the removal may be half done.
        """
        ...

    async def put_heads(self, heads: Sequence[Head]) -> list[Head]:
        """Move heads forward; returns the stored heads that refused.

        A head moves only to a higher position. One that stands higher, or at the same position with
        another digest, stays and is returned: the caller lost a race, or the database was put back.
        """
        ...

    async def heads(self, tenant_id: UUID | None = None) -> list[Head]:
        """All heads of a tenant (NO_TENANT: of the installation), or of everybody; ordered."""
        ...

    async def reset_heads(self, tenant_id: UUID | None, heads: Sequence[Head]) -> None:
        """Replace all heads of a tenant, or of everybody, backwards too: for a declared restore only."""
        ...

    async def signing_key(self) -> SigningKey:
        """The installation's signing key, made on first use."""
        ...

    async def rotate_signing_key(self) -> SigningKey:
        """A new signing key; the private half of the old one is destroyed, the public one kept."""
        ...

    async def public_keys(self) -> dict[str, bytes]:
        """Every public signing key there ever was, by key id."""
        ...

    async def rewrap(self, provider: MasterKeyProvider) -> int:
        """Wrap every key by the provider's current master key and use that provider from now on.

        Returns how many keys were wrapped anew. Repeat until it returns 0 when other processes still run
        with the old provider, before the old master key is retired.
        """
        ...

    async def master_keys_in_use(self) -> Mapping[str, int]:
        """How many keys each master key wraps, by its id."""
        ...

    async def retire_master_key(self, key_id: str) -> int:
        """Make sure that the master key wraps nothing, now and ever; returns how many keys it still wraps.

        0: it is retired, and a process that still began with it is refused with MasterKeyRetired when it
        would wrap something. Otherwise nothing was done: rewrap first. Raises MasterKeyError for the current
        key.
        """
        ...


def newest_per_key(heads: Iterable[Head]) -> list[Head]:
    """The highest of each key's heads, ordered. Raises ValueError when two contradict each other."""
    newest: dict[tuple[UUID, HeadKind, UUID], Head] = {}
    for head in heads:
        place = (head.tenant_id, head.kind, head.key)
        other = newest.get(place)
        if other is None or head.position > other.position:
            newest[place] = head
        elif head.position == other.position and head.digest != other.digest:
            raise ValueError("two heads of one batch contradict each other")
    return [newest[place] for place in sorted(newest)]
