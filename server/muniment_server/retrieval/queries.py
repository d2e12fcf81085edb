"""What a query asks for: its words, whom and when it names, and what sort of answer it wants."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from muniment_server.domain.model import TimeRange
from muniment_server.retrieval.analysis import ANALYZER_VERSION, normalize
from muniment_server.retrieval.indexing import (
    SAYS_NAME,
    SAYS_NUMBER,
    SAYS_TIME,
    called_marks,
    name_marks,
    name_terms,
    slot_marks,
    speaker_marks,
)
from muniment_server.retrieval.naming import named
from muniment_server.retrieval.scripts import simplified
from muniment_server.retrieval.stopwords import CHINESE_PERSONS
from muniment_server.retrieval.times import asks_when, read_times
from muniment_server.retrieval.writing import apart_marks

_MAX_CHARACTERS = 8_192
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|long|old|often|far|tall|big)\b|几|多少|多大|多久|多高|多远")
_ASKS_NAME = re.compile(
    r"\b(?:who|whom|whose|where|which|called|names?|title|city|country|state|place|book|film|movie|song|band)\b"
    r"|谁|哪|什么名|叫什么|名字|名称|书名"
)
# Whoever asks is the one that the conversation calls its user, and whoever is asked its assistant.
_USERS = ("user", "human", "用户", "customer")
_ASSISTANTS = ("assistant", "ai", "bot", "agent", "助手", "model")
_SAYS = "recommend|suggest|tell|told|gave|give|given|say|said|mention|ask|share|consult|talk|describe"
_SAYS += "|discuss|explain|advise|introduce|teach|taught|answer|help|show"
_I_SAY = re.compile(rf"\bi(?:'ve| have)?(?: \w+)? (?:{_SAYS})")
_YOU_SAY = re.compile(rf"\byou(?:'ve| have)?(?: \w+)? (?:{_SAYS})")
_ME = re.compile(r"\b(?:i|my|me|mine)\b|我")
_TO = "给向跟和对"
_BEFORE = rf"(?<![{_TO}])"
_WO_SAY = re.compile(
    rf"{_BEFORE}我(?:曾经?|之前|有)?(?:[{_TO}]你)?(?:推荐|建议|告诉|介绍|说|分享|提|问|咨询|聊)"
)
_NI_SAY = re.compile(
    rf"{_BEFORE}你(?:曾经?|之前|有)?(?:[{_TO}]我)?(?:推荐|建议|告诉|介绍|说|分享|教|提|给|讲)"
    rf"|{_BEFORE}你.{{0,8}}(?:推荐|建议|告诉)"
)


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """An analysed query. `speakers` and `slots` are marks in the order of `words`.

    roles: marks of the speakers that "I" and "you" mean, or who are named by what is no word, like Will.
    names: marks of the names that it may ask for. wanted: marks of what an answer says. spans: times
    that the query names, in UTC. only_times: whether it asks for nothing else. apart: marks of the scripts in
    which no word of it can stand.
    """

    words: Sequence[str] = ()
    speakers: Sequence[str] = ()
    names: Sequence[str] = ()
    slots: Sequence[str] = ()
    roles: Sequence[str] = ()
    wanted: Sequence[str] = ()
    spans: Sequence[TimeRange] = ()
    only_times: bool = False
    apart: Sequence[str] = ()


def analyse_query(
    text: str, words: Sequence[str], reference: datetime, zone: tzinfo, oldest: int = ANALYZER_VERSION
) -> QueryTerms:
    """Read a query of which the terms are known already.

    reference, aware: what "yesterday" starts from; zone: whose days are meant. oldest: the oldest version of
    the analysis that may have made what is in the store.
    """
    written = normalize(text[:_MAX_CHARACTERS])
    start = written.lower()
    called = dict.fromkeys(term for name in named(written) for term in name_terms(name))
    unsaid = [term for term in (*called, *CHINESE_PERSONS.findall(simplified(written))) if term not in words]
    wanted = [
        mark
        for mark, asked in (
            (SAYS_TIME, asks_when(start)),
            (SAYS_NUMBER, bool(_ASKS_NUMBER.search(start))),
            (SAYS_NAME, bool(_ASKS_NAME.search(start))),
        )
        if asked
    ]
    times = read_times(start, reference, zone)
    return QueryTerms(
        words=words,
        speakers=speaker_marks(words),
        names=[
            *called_marks(called),
            # Before version 2 a name had no other mark.
            *name_marks(
                word for word in {**dict.fromkeys(words), **called} if oldest < 2 or word not in called
            ),
        ],
        slots=slot_marks(words),
        roles=speaker_marks([*(term for role in _roles(start) for term in name_terms(role)), *unsaid]),
        wanted=wanted,
        spans=times.spans,
        only_times=times.alone and len(text) <= _MAX_CHARACTERS,
        apart=apart_marks(written),
    )


def _roles(text: str) -> tuple[str, ...]:
    """The names of the speaker who said what is asked for; empty when the question does not say."""
    by_user = bool(_I_SAY.search(text) or _WO_SAY.search(text))
    by_assistant = bool(_YOU_SAY.search(text) or _NI_SAY.search(text))
    if by_user and by_assistant:
        return ()
    if by_assistant:
        return _ASSISTANTS
    return _USERS if by_user or _ME.search(text) else ()
