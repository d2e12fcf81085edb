"""The rule extractor: deterministic, English and Chinese, nothing but what a speaker states plainly.

It prefers to miss: a sentence that asks, supposes, quotes or tells what others said gives nothing. What it
takes stays in the speaker's own words.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from muniment_server.domain.model import SourceType

from . import patterns_en, patterns_zh
from .candidate import HEDGED, MOST_CHARACTERS, ROLE_SOURCE, Candidate, Turn, TurnRole
from .rule import Rule
from .sentences import is_hedged, is_statement, sentences

VERSION = "rules"
HARD = frozenset({"identity", "contact", "place"})
"""Rules for what has one right form: names, numbers, addresses."""
HARD_SLOTS = frozenset(
    rule.slot for rule in (*patterns_en.RULES, *patterns_zh.RULES) if rule.name in HARD and rule.slot
)
LOOKED_AT = 8_000
"""Characters of a turn that rules read: what is longer is a document, not something said."""
MOST_OF_A_TURN = 20
"""Candidates of one turn."""
_ONE_CLAUSE = frozenset({"name", "preferred_name", "age", "birth_date", "email", "phone"})
"""Slots whose statement ends with its clause; what follows is about something else."""
_OF_AN_AGENT = frozenset({"decision", "commitment"})
"""What an agent says of itself is no memory of the subject; what it decides and promises is."""
_END = " \t\r\n.。!！~～,，;；、"
_CJK = re.compile("[\u3400-\u9fff]")


def extract(turns: Sequence[Turn]) -> list[Candidate]:
    """The candidates of turns, in their order. The same turns always give the same candidates."""
    found = []
    seen: set[tuple[str, str | None, TurnRole]] = set()
    for turn in turns:
        for candidate in islice(_of_turn(turn), MOST_OF_A_TURN):
            key = (candidate.content, candidate.slot, turn.role)
            if key not in seen:
                seen.add(key)
                found.append(candidate)
    return found


def _of_turn(turn: Turn) -> Iterator[Candidate]:
    for sentence in sentences(turn.content[:LOOKED_AT]):
        if is_statement(sentence):
            yield from _of_sentence(turn, sentence)


def _of_sentence(turn: Turn, sentence: str) -> Iterator[Candidate]:
    language = patterns_zh if _CJK.search(sentence) else patterns_en
    # One character for one: places in the two are the same.
    text = sentence.replace("’", "'")
    matches: list[tuple[int, int, Rule, str | None, bool]] = []
    corrected = False
    last = -1
    for start in _clauses(text, language.CLAUSE):
        strip = language.STRIP.match(text, start)
        begin = strip.end() if strip else start
        keep = language.KEEP.match(text, begin)
        after = language.STRIP.match(text, keep.end()) if keep else None
        core_begin = after.end() if after else keep.end() if keep else begin
        if core_begin <= last:
            # The clause before had only words in front of this one.
            continue
        corrected = corrected or bool(strip and language.CORRECTION_LEAD.search(strip[0]))
        end = _clause_end(text, core_begin, language.CLAUSE)
        clause = text[begin:end].rstrip(_END)
        for attempt in dict.fromkeys((text[core_begin:end].rstrip(_END), clause)):
            hit = _first(language.RULES, attempt, turn.role)
            if hit is not None:
                last = core_begin
                rule, slot = hit
                correction = corrected or bool(language.CORRECTION.search(clause))
                matches.append((begin, end, rule, slot, correction))
                break
    for index, (begin, clause_end, rule, slot, correction) in enumerate(matches):
        end = (
            clause_end
            if slot in _ONE_CLAUSE
            else matches[index + 1][0]
            if index + 1 < len(matches)
            else len(sentence)
        )
        content = _trimmed(sentence[begin:end])
        if not content or len(content) > MOST_CHARACTERS:
            continue
        hedged = is_hedged(content) or (index == 0 and is_hedged(sentence[:end]))
        source = ROLE_SOURCE[turn.role]
        yield Candidate(
            content=content,
            kind=rule.kind,
            source=source,
            turn_numbers=(turn.number,),
            extracted_by=f"{VERSION}/{'correction' if correction else rule.name}",
            # A guess replaces nothing, and only the subject fills the subject's slots.
            slot=slot if source is SourceType.USER_STATED and not hedged else None,
            confidence=HEDGED if hedged else None,
            speaker=turn.speaker,
        )


def _first(rules: Sequence[Rule], clause: str, role: TurnRole) -> tuple[Rule, str | None] | None:
    for rule in rules:
        if role is TurnRole.AGENT and rule.name not in _OF_AN_AGENT:
            continue
        match = rule.pattern.match(clause)
        if match is not None:
            return rule, rule.slot_of(match)
    return None


def _clauses(text: str, boundary: re.Pattern[str]) -> Iterator[int]:
    yield 0
    for match in boundary.finditer(text):
        yield match.end()


def _clause_end(text: str, start: int, boundary: re.Pattern[str]) -> int:
    match = boundary.search(text, start)
    return match.start() if match else len(text)


_TAIL = re.compile(
    r"[\s,，;；]+(?:and|but|so|because|since|also|actually|no|sorry)?[\s,，;；:：—–-]*$", re.IGNORECASE
)


def _trimmed(text: str) -> str:
    shorter = _TAIL.sub("", text).strip(_END)
    return shorter or text.strip(_END)
