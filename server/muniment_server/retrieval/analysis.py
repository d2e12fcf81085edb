"""Text to index terms: one analyser for all scripts, the same for memories and for queries.

The terms are what the lexical leg counts; they leave the process only as keyed hashes. What is
written and what is asked must go through the same version, so every row of the index is stamped
with `ANALYZER_VERSION`, and any change of output needs a new number.

| script | terms |
| --- | --- |
| Latin, ASCII | case folded (ß is ss), English Snowball stem, stop words left out |
| Latin with accents | as written, with ae, oe, ue, oe, aa for ä, ö, ü, ø, å; and the same without accents |
| Arabic, Hebrew, Greek, Cyrillic | optional marks and letter variants folded; Arabic article removed |
| other spaced scripts | case folded words |
| Chinese | simplified; dictionary words (search mode), bigrams; in memories also each character |
| Japanese | character bigrams of runs with kana; in memories also each kanji |
| Korean | syllable bigrams of each word; in memories also its first syllable |
| Thai, Lao, Khmer, Burmese and neighbours | bigrams of written characters (base with its marks) |
| codes, numbers, addresses | whole and in parts; phone-like digit groups also joined |
| emoji | one term each, without skin tone and joiners |
"""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import islice

import Stemmer

from muniment_server.domain.statement import normalize_unicode
from muniment_server.retrieval import segmentation
from muniment_server.retrieval.scripts import (
    CLUSTER,
    EMOJI,
    HAN,
    HAN_CHARACTER,
    HANGUL,
    HAS_KANA,
    INVISIBLE,
    KANA,
    MARK,
    UNSPACED,
    WORD,
    simplified,
)
from muniment_server.retrieval.stopwords import CAPITAL_NAMES, CHINESE, CHINESE_PARTICLES, ENGLISH

ANALYZER_NAME = "multiscript"
ANALYZER_VERSION = 2
"""Stored with every indexed row; raise it with any change of what `analyze` returns."""

MAX_TERMS = 32_768
"""Terms of one text. Ordinary text gives less than one term per UTF-8 byte, so that a text of 32 KiB
is indexed to its end; only compatibility characters that expand (U+FDFA) reach this bound."""
MAX_QUERY_TERMS = 8_192
"""Distinct terms of one query: more than the 8 KiB of the longest one have, so that none is cut."""
MAX_TERM_LENGTH = 64
"""Code points; a longer term is replaced by a digest of itself and still matches exactly."""

_MAX_EXPANSION = 2
MAX_FOLDED_LENGTH = 128
"""Code points; a longer word stays as it is."""
_COMPOUND_PARTS = re.compile(r"[^._\-/:@'&+,]+")
_CASE_OR_DIGIT_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")
_PHONE = re.compile(
    r"(?<![A-Za-z0-9.,\-/])\(?[0-9](?:[0-9]|[-./() ](?=[-./() ]?[0-9(])){5,30}[0-9](?![A-Za-z0-9])"
)
_ANY_DIGIT = re.compile(r"[0-9]")
_NON_DIGIT = re.compile(r"[^0-9]+")
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_ARABIC = re.compile("[\u0600-\u06ff\u0750-\u077f\u0870-\u08ff]")
_STRIPPED_MARKS = re.compile("[\u0370-\u03ff\u0400-\u052f\u0590-\u05ff\u1f00-\u1fff]")
_ARABIC_FOLD = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ـ": None}
)
_ARABIC_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")
_LATIN_FOLD = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i", "ħ": "h"}
)
# Whoever has no such key writes two letters: Mueller is Müller, while Muller may be either.
_DIGRAPHS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_CONTRACTIONS = ("s", "re", "ve", "ll", "d", "m")

_ASCII_WORD = r"[A-Za-z0-9]+(?:[._\-/:@'&+,][A-Za-z0-9]+)*"
_ASCII_SCAN = re.compile(rf"(?P<code>[A-Za-z](?:\+\+|\#)(?![A-Za-z0-9]))|(?P<word>{_ASCII_WORD})")
_SCAN = re.compile(
    r"(?P<code>[A-Za-z](?:\+\+|\#)(?![A-Za-z0-9]))"
    rf"|(?P<word>[{WORD}][{WORD}{MARK}]*(?:[._\-/:@'&+,][{WORD}][{WORD}{MARK}]*)*)"
    rf"|(?P<cjk>[{HAN}{KANA}]+)"
    rf"|(?P<hangul>[{HANGUL}]+)"
    rf"|(?P<unspaced>[{UNSPACED}][{UNSPACED}{MARK}]*)"
    rf"|(?P<flag>[\U0001f1e6-\U0001f1ff]{{2}})|(?P<emoji>[{EMOJI}])"
)

Fold = Callable[[str], Iterator[str]]

_local = threading.local()


def stem(word: str) -> str:
    """The English Snowball stem of an ASCII word in lower case."""
    # A Snowball stemmer keeps its working buffer in the object. The cache is off: it would hold words
    # of memories in the process after they were erased.
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    stem: str = stemmer.stemWord(word)
    return stem


def normalize(text: str) -> str:
    """Return NFKC of a text without invisible characters and with ASCII digits.

    What grows to more than twice its length (U+FDFA is one character that becomes eighteen) is cut
    there.
    """
    if text.isascii():
        return text
    text = normalize_unicode("NFKC", text)[: _MAX_EXPANSION * len(text) + MAX_TERM_LENGTH]
    text = INVISIBLE.sub("", text.replace("\u2019", "'"))
    return _FOREIGN_DIGIT.sub(lambda match: str(unicodedata.digit(match[0], 0)), text)


def _without_marks(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def foreign_word(word: str) -> Iterator[str]:
    """Fold one word that has a character outside ASCII."""
    if len(word) > MAX_FOLDED_LENGTH:
        yield word
        return
    word = unicodedata.normalize("NFKC", word.casefold())
    if word.isascii():
        yield stem(word) if word.isalpha() else word
    elif not is_latin(word):
        yield from other_alphabet(word)
    else:
        written = word.translate(_DIGRAPHS)
        yield stem(written) if written.isascii() else written
        plain = without_accents(word)
        if plain not in (word, written) and plain.isascii():
            yield stem(plain)


def other_alphabet(word: str) -> Iterator[str]:
    """Fold a word, in lower case, of which the alphabet is not Latin."""
    if _ARABIC.search(word):
        # Letter folding as in Lucene's ArabicNormalizer, article as in the light10 stemmer.
        word = _without_marks(word.translate(_ARABIC_FOLD))
        for article in _ARABIC_ARTICLES:
            if word.startswith(article) and len(word) >= len(article) + 2:
                word = word[len(article) :]
                break
        yield word
    else:
        # U+0439 is a letter of its own, not an accented U+0438.
        yield word.replace("ё", "е") if "\u0400" <= word[0] <= "\u052f" else _without_marks(word)


def is_latin(word: str) -> bool:
    """Whether a word in lower case has no letter of the alphabets that are folded in ways of their own."""
    return not (_ARABIC.search(word) or _STRIPPED_MARKS.search(word))


def without_accents(word: str) -> str:
    """A Latin word in lower case with plain letters."""
    return _without_marks(word).translate(_LATIN_FOLD)


def _simple_word(word: str, shouted: bool, fold: Fold) -> Iterator[str]:
    """Terms of a word without punctuation inside."""
    if not word.isascii():
        yield from fold(word)
        return
    if word.isdigit():
        yield word
        return
    folded = word.lower()
    if folded in ENGLISH:
        if word in CAPITAL_NAMES and not shouted:
            yield folded
        return
    yield stem(folded) if folded.isalpha() else folded
    if folded.isalpha() and (word.islower() or word.isupper() or word.istitle()):
        return
    parts = _CASE_OR_DIGIT_PARTS.findall(word)
    if len(parts) > 1:
        for part in parts:
            if len(part) > 1:
                yield part if part.isdigit() else stem(part.lower())


def _compound(word: str, shouted: bool, fold: Fold) -> Iterator[str]:
    """Terms of words tied together by punctuation: contractions, codes, addresses, paths."""
    if "'" in word:
        head, _, tail = word.rpartition("'")
        if tail.lower() in _CONTRACTIONS:
            yield from _word(head, shouted, fold)
            return
        if tail.lower() == "t" and head[-1:].lower() == "n" and head.isalpha():
            if head.lower() not in ("can", "won", "shan"):
                yield from _simple_word(head[:-1], shouted, fold)
            yield "not"
            return
    whole = word.casefold().replace("'", "")
    yield whole
    if "," in whole and _THOUSANDS.fullmatch(whole):
        yield whole.replace(",", "")
    for part in _COMPOUND_PARTS.findall(word):
        yield from _simple_word(part, shouted, fold)


def _word(word: str, shouted: bool, fold: Fold) -> Iterator[str]:
    if word.isalnum():
        yield from _simple_word(word, shouted, fold)
    elif _COMPOUND_PARTS.fullmatch(word):
        yield from fold(word)
    else:
        yield from _compound(word, shouted, fold)


def _bigrams(units: list[str] | str) -> Iterator[str]:
    if len(units) == 1:
        yield units[0]
    for first, second in zip(units, islice(units, 1, None), strict=False):
        yield first + second


def _chinese(run: str, query: bool) -> Iterator[str]:
    for word in segmentation.words(run):
        if word not in CHINESE:
            yield word
    for bigram in _bigrams(run):
        if not (bigram[0] in CHINESE_PARTICLES or bigram[-1] in CHINESE_PARTICLES):
            yield bigram
    if not query and len(run) > 1:
        yield from run


def _japanese(run: str, query: bool) -> Iterator[str]:
    yield from _bigrams(run)
    if not query and len(run) > 1:
        yield from (char for char in run if HAN_CHARACTER.match(char))


def _terms(text: str, query: bool, fold: Fold, characters: Callable[[str], str]) -> Iterator[str]:
    text = characters(normalize(text))
    shouted = text.isupper() and " " in text
    scan = _ASCII_SCAN if text.isascii() else _SCAN
    for match in scan.finditer(text):
        kind, found = match.lastgroup, match[0]
        if kind == "word":
            if found.isascii() and found.isalpha() and found.islower():
                if found not in ENGLISH:
                    yield stem(found)
                continue
            yield from _word(found, shouted, fold)
        elif kind == "cjk":
            yield from _japanese(found, query) if HAS_KANA.search(found) else _chinese(found, query)
        elif kind == "hangul":
            yield from _bigrams(found)
            if not query and len(found) > 1:
                # A noun of one syllable stands first, with its particle behind it.
                yield found[0]
        elif kind == "unspaced":
            yield from _bigrams(CLUSTER.findall(found))
        else:
            yield found.lower()
    for match in _PHONE.finditer(text) if _ANY_DIGIT.search(text) else ():
        digits = _NON_DIGIT.sub("", match[0])
        if 7 <= len(digits) <= 15 and digits != match[0]:
            yield digits


def _bounded(term: str) -> str:
    if len(term) <= MAX_TERM_LENGTH:
        return term
    return "#" + blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Analyzer:
    """Turns text into index terms. Stateless and safe to share between threads.

    fold: makes terms of a word outside ASCII; characters: makes one of characters that mean the same. Other
    ones than those at hand are those of an earlier version.

    Linear in the length of the text: up to about 60 ms for 32 KiB of Chinese, 25 ms of English. Never
    raises because of what a text contains; a text without words gives no terms.
    """

    name = ANALYZER_NAME

    def __init__(
        self,
        version: int = ANALYZER_VERSION,
        fold: Fold = foreign_word,
        characters: Callable[[str], str] = simplified,
    ) -> None:
        self.version = version
        self._fold = fold
        self._characters = characters

    def warm_up(self) -> None:
        """Load the Chinese dictionary now instead of at the first Chinese text."""
        segmentation.warm_up()

    def analyze(self, text: str) -> list[str]:
        """Return the terms of a memory, repeated as often as they occur."""
        return [
            _bounded(term)
            for term in islice(_terms(text, False, self._fold, self._characters), MAX_TERMS)
            if term
        ]

    def analyze_query(self, text: str) -> list[str]:
        """Return the distinct terms of a query in the order in which they first occur."""
        found = islice(_terms(text, True, self._fold, self._characters), MAX_TERMS)
        terms = dict.fromkeys(_bounded(term) for term in found if term)
        return list(islice(terms, MAX_QUERY_TERMS))
