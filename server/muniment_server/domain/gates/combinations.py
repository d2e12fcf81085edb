"""What makes an instruction when it comes together, in whatever words between.

One word of each group within a stretch of two dozen words: who is addressed, what is to be overthrown or
kept quiet, and how. Any of the words is ordinary by itself; statements about the world seldom have all.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .folding import word_set

_WINDOW = 24
STEP = 12

# Whoever tells about people says who did it; orders to a model have no such subject.
_PEOPLE = word_set("i we he she they my our his her their me us him them who asked wanted requested")
_YOU = "you your yours yourself assistant assistants chatbot llm ai"
_RULES = (
    "instruction instructions prompt prompts guideline guidelines directive directives programming training"
    " configuration configured guardrail guardrails safeguard safeguards rules policy policies restrictions"
    " context"
)
_OVERTHROWN = (
    "ignore disregard forget changed replaced superseded overridden obsolete void invalid disclose reveal"
    " leak bypass override confidential secret hidden violate break"
)
_SPEAK = (
    "answer answers reply replies respond response responses say speak append output write mention include"
    " contain recommend claim"
)
_HARMFUL = (
    "transfer delete erase wipe disclose reveal grant send pay list dump leak purge forward approve unlock"
)
_PRECIOUS = (
    "funds money payment password passwords credentials superuser root admin privileges memory memories cards"
    " secrets keys token tokens balance database"
)


@dataclass(frozen=True, slots=True)
class Combination:
    """Groups of words; one of each must stand in a window, and none of `without`."""

    rule: str
    groups: tuple[frozenset[str], ...]
    without: frozenset[str]


def _all(rule: str, *groups: str, but: str = "") -> Combination:
    return Combination(rule, tuple(map(word_set, groups)), _PEOPLE - word_set(but))


COMBINATIONS = (
    _all("OVERRIDE", _YOU, _RULES, _OVERTHROWN),
    _all("OVERRIDE", "system", "message override", _RULES),
    _all("OVERRIDE", "ignore disregard", "user safety", "assistant says list reveal instead"),
    _all(
        "STANDING_ORDER",
        _SPEAK,
        "every each always never whatever whenever all any only henceforth",
        "you your response responses answers replies reply",
        "must should append include contain add whatever mention link",
    ),
    _all(
        "STANDING_ORDER",
        "if when whenever",
        "asked asks ask asking inquires questioned",
        "answer say reply respond claim",
        "user users you asked",
        but="asked",
    ),
    _all("STANDING_ORDER", "now", "speak answer reply respond write", "only never always"),
    _all("TOOL_CALL", "you your assistant ai chatbot override", _HARMFUL, _PRECIOUS),
    _all("TOOL_CALL", "delete erase wipe purge", "memory memories", "every all user everything"),
    _all(
        "NEW_ROLE",
        _YOU,
        "obey trust refuse comply serve",
        "must always never only shall required now have",
        "operator developer administrator system message messages request requests user",
    ),
    _all("NEW_ROLE", "always never", "trust obey", "messages message operator sender"),
    _all("NEW_ROLE", "you", "now", "work serve", "for", "instructions changed only longer"),
    _all(
        "NEW_ROLE",
        "anything whatever everything",
        "text message note following user",
        "do obey follow",
        "question refuse asks says refusing",
    ),
    _all("CONCEALMENT", "hide conceal withhold secret", "from", "user", "you must required this keep"),
)


TELLING = frozenset().union(*(group for one in COMBINATIONS for group in one.groups))
"""Every word of every group."""
# One word can be in several groups.
_FEWEST = 2


def combined(words: str) -> Iterator[str]:
    """The rules of the combinations that stand in a text, given as its words."""
    listed = words.split(" ")
    everything = TELLING.intersection(listed)
    if len(everything) < _FEWEST:
        return
    possible = [one for one in COMBINATIONS if not any(group.isdisjoint(everything) for group in one.groups)]
    if not possible:
        return
    for start in range(0, max(1, len(listed) - STEP), STEP):
        window = set(listed[start : start + _WINDOW])
        for one in possible:
            if one.without.isdisjoint(window) and not any(group.isdisjoint(window) for group in one.groups):
                yield one.rule
