"""One rule: a pattern that a clause begins with, and what it makes of it."""

import re
from dataclasses import dataclass

from muniment_server.domain.model import MemoryKind


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. slot: what the statement answers, where that is clear. by_value: the slot is completed by the
    group `of` of the match ("favorite" and "color")."""

    name: str
    kind: MemoryKind
    pattern: re.Pattern[str]
    slot: str | None = None
    by_value: bool = False

    def slot_of(self, match: re.Match[str]) -> str | None:
        """The slot of a statement that matched."""
        if not self.by_value or self.slot is None:
            return self.slot
        value = "_".join((match.group("of") or "").lower().split())
        return f"{self.slot}_{_SAME.get(value, value)}" if value else None


_SAME = {
    "colour": "color",
    "颜色": "color",
    "食物": "food",
    "菜": "food",
    "电影": "movie",
    "film": "movie",
    "书": "book",
    "歌": "song",
    "城市": "city",
    "运动": "sport",
    "饮料": "drink",
}
"""Words for the same thing, so that it has one slot whatever language it was said in."""
