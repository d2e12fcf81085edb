"""Remembers vectors of recent texts, by digest and within a bound of bytes."""

import secrets
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

from muniment_server.embedding.base import Vector

_OVERHEAD = 400
"""Bytes of an entry beside its vector: key, objects, table slots; measured roughly."""


class Purpose(StrEnum):
    """What a text is embedded for; models may treat the two differently."""

    QUERY = "query"
    PASSAGE = "passage"


CacheKey = tuple[str, Purpose, Hashable, bytes]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's vector and how it came about.

    vector: read-only, length 1; None when the model cannot read enough of the text for a vector to mean
    anything. coverage: share of the text that the model knows. truncated: the vector stands for the
    beginning of the text only.
    """

    vector: Vector | None
    coverage: float
    truncated: bool

    @property
    def size(self) -> int:
        """Bytes that the cache counts for this."""
        return _OVERHEAD + (self.vector.nbytes if self.vector is not None else 0)


class VectorCache:
    """Least recently used vectors go first. Not safe across threads: owned by the event loop."""

    def __init__(self, max_bytes: int) -> None:
        """Hold at most `max_bytes`; 0 turns the cache off."""
        self._max_bytes = max_bytes
        self._entries: OrderedDict[CacheKey, Embedded] = OrderedDict()
        # A digest without a key could be compared with those of guessed texts in a memory dump.
        self._secret = secrets.token_bytes(32)
        self.size = 0
        self.generation = 0
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        """Count the entries."""
        return len(self._entries)

    def key(self, model: str, purpose: Purpose, text: str, tenant: Hashable = None) -> CacheKey:
        """Return the key under which a tenant's text is remembered, which does not hold the text.

        Another tenant with the same text has another one: that a text is remembered can be told from outside.
        """
        return model, purpose, tenant, blake2b(text.encode(), digest_size=16, key=self._secret).digest()

    def get(self, key: CacheKey) -> Embedded | None:
        """Return what is remembered and mark it as used."""
        found = self._entries.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return found

    def put(self, key: CacheKey, value: Embedded, generation: int) -> None:
        """Remember a vector, unless the cache was cleared since `generation` was current."""
        if generation != self.generation or value.size > self._max_bytes:
            return
        previous = self._entries.pop(key, None)
        if previous is not None:
            self.size -= previous.size
        self._entries[key] = value
        self.size += value.size
        while self.size > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self.size -= oldest.size

    def clear(self) -> None:
        """Forget everything, and what is being computed now as well."""
        self._entries.clear()
        self.size = 0
        self.generation += 1
