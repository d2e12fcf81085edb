"""Order-free digest of a set of rows that can be kept up to date one row at a time.

MSet-Add-Hash of D. Clarke, S. Devadas, M. van Dijk, B. Gassend and G. E. Suh, "Incremental Multiset
Hash Functions and Their Application to Memory Integrity Checking", ASIACRYPT 2003, LNCS 2894,
pp. 188-207: the sum modulo 2**256 of a keyed hash of each element. It is collision resistant only as
long as nobody without the key sees two plain sums, since their differences are the hashes of single
elements and enough of those can be combined into another set of the same sum (Wagner's generalised
birthday attack). So the sum here is a value in memory; what is stored is `ScopeKey.hide_set` of it,
the sum under a fresh mask, which is the `H_K(0, r)` of the paper.
"""

from collections.abc import Iterable
from dataclasses import dataclass

DIGEST_BYTES = 32
_MODULUS = 1 << (8 * DIGEST_BYTES)


@dataclass(frozen=True, slots=True)
class SetDigest:
    """Number of elements and sum of their keyed hashes. Elements come from `ScopeKey.set_element`."""

    count: int = 0
    total: int = 0

    def __post_init__(self) -> None:
        if self.count < 0 or not 0 <= self.total < _MODULUS:
            raise ValueError("a set digest has a count of at least 0 and a sum of 256 bits")

    @property
    def value(self) -> bytes:
        """The sum as 32 bytes, big endian. Secret: see the module's text."""
        return self.total.to_bytes(DIGEST_BYTES)

    @classmethod
    def of(cls, elements: Iterable[bytes]) -> "SetDigest":
        """The digest of these elements, in whatever order, repeated ones counted each time."""
        return cls().add(*elements)

    def add(self, *elements: bytes) -> "SetDigest":
        """With these elements put in."""
        return SetDigest(self.count + len(elements), (self.total + _sum(elements)) % _MODULUS)

    def remove(self, *elements: bytes) -> "SetDigest":
        """With these elements taken out. Whether they were in it cannot be known from the digest.

        Raises ValueError when there are fewer elements in it than taken out.
        """
        return SetDigest(self.count - len(elements), (self.total - _sum(elements)) % _MODULUS)

    def combine(self, other: "SetDigest") -> "SetDigest":
        """The digest of both sets together."""
        return SetDigest(self.count + other.count, (self.total + other.total) % _MODULUS)

    def __repr__(self) -> str:
        return f"SetDigest(count={self.count})"


def _sum(elements: tuple[bytes, ...]) -> int:
    total = 0
    for element in elements:
        if len(element) != DIGEST_BYTES:
            raise ValueError(f"a set element has {DIGEST_BYTES} bytes")
        total += int.from_bytes(element)
    return total
