"""Names in a text, told by how they are written: no model, and no list of names.

Where letters have cases, a capital that no sentence asks for is the sign of a name. German gives one to
every noun; there a title or a second name says more, and what has an article is a noun. A capital at the
beginning of a sentence may be that of any word: such a name is only a possible one, and counts where the
query writes it as a name. Chinese names are told by a family name before characters that make no word, by a
title, or by the dictionary; Japanese, Korean and Arabic ones by the title alone.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from muniment_server.retrieval import segmentation
from muniment_server.retrieval.name_words import (
    ABBREVIATED,
    ARABIC_TITLE,
    CHINESE_TITLE,
    FAMILIES_OF_TWO,
    FAMILY,
    GERMAN,
    GIVEN,
    HELPERS,
    KOREAN_OFFICE,
    NO_JAPANESE_NAME,
    NO_KOREAN_NAME,
    OPENERS,
    PERHAPS_GERMAN,
    PERSON_DOES,
    SINGULAR,
    TITLES,
)
from muniment_server.retrieval.scripts import HAN, HANGUL, KANA
from muniment_server.retrieval.stopwords import ENGLISH


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a text. sure: it is one whoever asks; otherwise only if the query calls it so."""

    text: str
    sure: bool


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    gap: str
    """What stands between the word before and this one."""

    @property
    def bare(self) -> str:
        return _POSSESSIVE.sub("", self.text)

    @property
    def capital(self) -> bool:
        return self.text[0].isupper() or self.text[0].istitle()


_WORD = re.compile(r"[^\W_](?:\w|['’-](?=\w))*")
_CASED = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff]")
_SPACES = re.compile(r"[ \t\u00a0]+")
# Behind these a sentence goes on.
_GOES_ON = re.compile(r"[ \t]*[,;:)\]/&–-]+[ \t]+")
_FULL_STOP = re.compile(r"\.[ \t]+")
_TITLE = re.compile(r"[“\"《「『]([^”\"》」』\n]{1,60})[”\"》」』]")
_PRONOUN = re.compile(r"I(?:['’](?:m|ve|d|ll))?")
_POSSESSIVE = re.compile(r"['’]s?$")
_ENDS_IN_TITLE = re.compile(f"(?:{CHINESE_TITLE})$")
_HAN_RUN = re.compile(f"[{HAN}]{{2,}}")
_CHINESE_TITLED = re.compile(
    rf"(?!高中)((?:{'|'.join(FAMILIES_OF_TWO)}|[{FAMILY}])[{HAN}]{{0,2}}?)({CHINESE_TITLE})"
)
_IN_NAMES = frozenset(FAMILY + GIVEN)
_JAPANESE_TITLED = re.compile(
    rf"(?<![{HAN}お御ご])([{HAN}]{{1,4}}|[\u30a1-\u30fa\u30fc]{{2,}})"
    rf"(?:さん|さま|様|くん|君|ちゃん|氏)(?![{HAN}])"
)
_KOREAN_TITLED = re.compile(rf"(?<![{HANGUL}])([{HANGUL}]{{1,4}}?) ?(?:씨|님)(?![{HANGUL}]{{3}})")
_KOREAN_OFFICE = re.compile(rf"(?<![{HANGUL}])([{HANGUL}]{{1,4}}) (?:{KOREAN_OFFICE})님?")
_ARABIC_TITLED = re.compile(rf"(?<!\w)(?:ال)?(?:{ARABIC_TITLE})\s+(\w{{2,}})(?!\w)")
_ARABIC_OF = re.compile(r"(?<!\w)((?:أبو|أم|ابن|عبد)\s+\w{2,})(?!\w)")
_ARTICLE = re.compile(
    r"de[rnsm]|die|das|eine?[nmrs]?|zu[mr]|im|am|beim|vom|ins|ans"
    r"|(?:mein|dein|sein|ihr|unser|euer|eur|kein|dies|jed|jen|welch|manch|viel|wenig|all|beid)(?:e[nmrs]?)?"
)
_INFLECTED = re.compile(r"[a-zäöüß]{2,}e[nmrs]?")
# No name, or the end of no name.
_NOBODY = re.compile(r".*(?:ing|one|body|people|he|she|it|who|that|this|which|mine|yours)", re.IGNORECASE)
_ENGLISH_ONLY = ENGLISH - GERMAN - PERHAPS_GERMAN


def names(text: str) -> Iterator[Name]:
    """Names in a memory's text, in NFKC."""
    yield from _cased(text)
    for title in titles(text):
        yield Name(title, True)
    if not text.isascii():
        for name in _uncased(text):
            yield Name(name, True)


def titles(text: str) -> Iterator[str]:
    """What stands between the quotation marks of titles."""
    for found in _TITLE.finditer(text):
        yield found[1]


def named(query: str) -> list[str]:
    """What a query, in NFKC, writes as a name: a capital, where its capitals say something."""
    words = list(_words(query))
    middle = words[1:]
    if len(words) > 3 and all(word.capital for word in middle):
        return []
    german = _german(words)
    found: list[str] = []
    for place, word in enumerate(words):
        before = words[place - 1].text if place else ""
        if not word.capital or _PRONOUN.fullmatch(word.text) or word.text.lower() in TITLES:
            continue
        if place == 0 or not _goes_on(word, before):
            if _is_name_first(words, place):
                found.append(word.bare)
        elif not (german and _has_article(words, place)):
            found.append(word.bare)
    return found


def _is_name_first(words: list[_Word], place: int) -> bool:
    """Whether a capital at the beginning of a query's sentence is a name's, nothing else explaining it."""
    word = words[place].text
    bare = words[place].bare
    behind = words[place + 1] if place + 1 < len(words) else None
    if behind is None:
        return place == 0
    follows = behind.text.lower()
    if bare.lower() in HELPERS:
        return bare != word or follows in SINGULAR or (follows.endswith("ed") and behind.gap == " ")
    if bare.lower() in ENGLISH:
        return False
    return bare != word or follows in PERSON_DOES or behind.capital


def _words(text: str) -> Iterator[_Word]:
    end = 0
    for found in _WORD.finditer(text):
        yield _Word(found[0], text[end : found.start()])
        end = found.end()


def _goes_on(word: _Word, before: str) -> bool:
    """Whether a word stands amid a sentence."""
    if _SPACES.fullmatch(word.gap):
        return before != "I"
    if _FULL_STOP.fullmatch(word.gap):
        return before.lower() in ABBREVIATED or (len(before) == 1 and before.isupper() and before != "I")
    return bool(_GOES_ON.fullmatch(word.gap))


def _german(words: Iterable[_Word]) -> bool:
    """Whether a text is German by its small words, so that capitals say nothing in it."""
    lower = [word.text.lower() for word in words]
    german = sum(word in GERMAN for word in lower)
    perhaps = sum(word in PERHAPS_GERMAN for word in lower)
    return german > 0 and german + perhaps / 2 > sum(word in _ENGLISH_ONLY for word in lower)


def _has_article(words: list[_Word], place: int) -> bool:
    """Whether a German word has an article, at once before it or before an adjective."""
    before = [word.text.lower() for word in words[max(0, place - 2) : place]]
    return bool(before) and (
        bool(_ARTICLE.fullmatch(before[-1]))
        or (len(before) > 1 and bool(_INFLECTED.fullmatch(before[1]) and _ARTICLE.fullmatch(before[0])))
    )


def _cased(text: str) -> Iterator[Name]:
    if not _CASED.search(text) or (text.isupper() and " " in text):
        return
    words = list(_words(text))
    german = _german(words)
    for place, word in enumerate(words):
        if not word.capital or len(word.text) < 2 or word.text.lower() in TITLES:
            continue
        before = words[place - 1] if place else None
        behind = words[place + 1] if place + 1 < len(words) else None
        amid = before is not None and _goes_on(word, before.text) and not _PRONOUN.fullmatch(word.text)
        titled = amid and before is not None and before.text.lower() in TITLES
        sure = amid or _begins_with_name(word, behind, words[place + 2 : place + 3])
        if german and not titled:
            if amid and _has_article(words, place):
                continue
            # Of two capitals in a row the second one is mostly a family name.
            sure = (amid and before is not None and before.capital and word.gap == " " and place > 1) or (
                amid and behind is not None and behind.capital and behind.gap == " "
            )
        if sure or not _says_nothing(word.text):
            yield Name(word.bare, sure)


def _says_nothing(word: str) -> bool:
    """Whether a word is one that begins sentences, and none of what they are about."""
    bare = word.lower().partition("'")[0]
    return any(bare in words for words in (ENGLISH, OPENERS, GERMAN, PERHAPS_GERMAN))


def _begins_with_name(word: _Word, behind: _Word | None, next_but_one: list[_Word]) -> bool:
    """Whether what follows says that the word that begins a sentence is a person's name."""
    if behind is None or behind.gap != " " or _NOBODY.fullmatch(word.text):
        return False
    if _says_nothing(word.text) and word.text.lower() not in HELPERS:
        return False
    follows = behind.text.lower()
    return follows in PERSON_DOES or (follows == "and" and bool(next_but_one) and next_but_one[0].capital)


def _uncased(text: str) -> Iterator[str]:
    if re.search(f"[{KANA}]", text):
        for found in _JAPANESE_TITLED.finditer(text):
            if found[1] not in NO_JAPANESE_NAME:
                yield found[1]
    else:
        for run in _HAN_RUN.finditer(text):
            yield from _chinese(run[0])
    for pattern in (_KOREAN_TITLED, _KOREAN_OFFICE):
        for found in pattern.finditer(text):
            if found[1] not in NO_KOREAN_NAME:
                yield found[1]
    for pattern in (_ARABIC_TITLED, _ARABIC_OF):
        for found in pattern.finditer(text):
            yield found[1]


def _chinese(run: str) -> Iterator[str]:
    for found in _CHINESE_TITLED.finditer(run):
        # A family name alone is a character of many words: it is told by the first one of the title.
        yield found[1] if len(found[1]) > 1 else found[1] + found[2][0]
    words = list(segmentation.pieces(run))
    for place, word in enumerate(words):
        behind = _given(words[place + 1 : place + 3])
        if len(word) > 1:
            if segmentation.is_name(word) and not _ENDS_IN_TITLE.search(word):
                yield word
            elif word in FAMILIES_OF_TWO and behind:
                yield word + behind
        elif word in FAMILY and behind:
            yield word + behind
        elif word in "小老阿" and place + 1 < len(words) and words[place + 1] in _IN_NAMES:
            yield word + words[place + 1]


def _given(words: list[str]) -> str:
    """What of the words behind a family name is a given one: one or two characters that occur in such."""
    found = ""
    for word in words:
        if len(found) + len(word) > 2 or not all(one in GIVEN for one in word):
            break
        found += word
    return found
