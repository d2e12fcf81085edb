"""What a process remembers of scopes, by which it chooses the form of a statement."""

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

_MOST = 50_000


@dataclass(frozen=True, slots=True)
class Scale:
    """What was last seen of a scope: its ACTIVE memories, whether a TURN was ever among those there, and
    whether one source had too many of the last ones found."""

    size: int
    turns: bool | None = None
    crowded: bool = False


class Scales:
    """What scopes were like when last looked at: a hint, by which a statement is chosen.

    A wrong one costs time and no memory: the answer tells where another statement is to be asked.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._scales: OrderedDict[tuple[UUID, UUID], Scale] = OrderedDict()

    def note(
        self,
        tenant_id: UUID,
        scope_id: UUID,
        size: int,
        turns: bool | None = None,
        crowded: bool | None = None,
    ) -> None:
        """Remember a size, and of the others what was looked for; the oldest note is forgotten.

        Where turns were once they are looked for again: who may see them is another question each time.
        """
        key = tenant_id, scope_id
        before = self._scales.get(key, Scale(size))
        if turns is None or before.turns:
            turns = before.turns
        self._scales[key] = Scale(size, turns, before.crowded if crowded is None else crowded)
        self._scales.move_to_end(key)
        if len(self._scales) > self._most:
            self._scales.popitem(last=False)

    def get(self, tenant_id: UUID, scope_id: UUID) -> Scale | None:
        """What was last noted, if anything was."""
        return self._scales.get((tenant_id, scope_id))


SCALES = Scales()
