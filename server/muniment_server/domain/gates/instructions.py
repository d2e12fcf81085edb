"""The gate for stored instructions: text that addresses the model which will read it one day.

A memory is data. Nobody who remembers a fact tells its reader to ignore rules, to call tools or to keep
quiet about it. The gate reads what a person would read (`folding.py`), puts apart again what was pulled
apart, leaves out fillers, and looks for wordings (`wording.py`), marks of roles and tools, and characters
that hide or reorder text. It looks for forms, not for intent: a paraphrase in plain, polite words passes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from muniment_server.domain.model import TrustLevel

from .base import Finding, GateResult, Statement, Verdict
from .combinations import TELLING, combined
from .folding import word_set
from .long_texts import LONG, around, chinese_in, english_in, known_words
from .policy import GatePolicy
from .wording_en import ENGLISH
from .wording_zh import CHINESE

NAME = "instructions"

_FILLERS = word_set(
    "um uh uhm er erm hmm well like kindly really totally basically actually literally lol haha okay ok so"
    " very simply dear hey oh hi honestly"
)
_WORD = re.compile(r"[^\W_]+")
_SPELT = re.compile(r"(?<![^\W_])(?:[^\W_][\W_]{1,3}){4,}[^\W_](?![^\W_])")
_SPELT_LEAST = 5
# From the start of a run only: tried at every character, a long run would take quadratic time.
_LEET = re.compile(r"(?<![a-z0-9@$!|])(?=[a-z0-9@$!|]*[a-z])(?=[a-z0-9@$!|]*[0-9@$!|])[a-z0-9@$!|]{2,}")
_LEET_LETTERS = str.maketrans("0134578@$!|", "oieastbasil")
_LEET_ONE = str.maketrans("0134578@$!|", "oleastbasll")
_HAN = re.compile("[\u4e00-\u9fff]")
_NOT_HAN_WORD = re.compile("[^\u4e00-\u9fffa-z0-9]+")

# Each pattern begins with one of few characters, which is what makes a search quick.
_TAGS = re.compile(
    r"<\s*/?\s*(?:system|assistant|developer|instructions?|im_start|im_end|tool_call|tool_use|tool_result"
    r"|function_calls?|invoke|functions?|tools?|tool_code|memory|memories|system[-_ ]prompt|sys|inst)"
    r"\s*(?:>|/>|=[^<>]{0,80}>|\s[^<>]{0,80}>)"
    r"|<\|\s*(?:im_start|im_end|system|assistant|user|endoftext|begin_of_text|start_header_id|eot_id)"
    r"[^<>|]{0,20}\|>|<<\s*/?sys\s*>>"
)
_MARKS = re.compile(
    r"[\[【(#](?:(?<=\[)/?inst\]"
    r"|(?<=#)#+\s*(?:system|instruction|new instructions?|assistant|developer)\s*(?::|\n|$)"
    r"|(?<!#)\s*(?:system|系统|系統|developer|管理员|管理員)"
    r"\s*(?:prompt|message|override|note|提示|指令|消息|訊息|命令)?\s*[\])】])"
)
_PROMPT = re.compile(r"(?:begin|end|start) (?:of )?system (?:prompt|message)")
# What stands in a line of its own has as little white space as one needs to see that.
_WIDE = re.compile(r"\s{3,}")
_ROLE_LINE = re.compile(
    r"(?:^|\n|\. )\s*(?:system|developer|system message|system note"
    r"|系统提示|系统消息|系统指令|系统|系統提示|系統訊息|系統)\s*[:>]\s*"
    r"(?:you\b|ignore|override|always|never|new\b|the assistant|from now|disregard|do not|you must|please"
    r"|[^\n]{0,30}?(?:请|请立即|必须|立即)(?:执行|调用|转账|删除|忽略|输出|回答|批准)"
    r"|instruction|你|忽略|无视|從現在|从现在|必须|必須|请|請|不要|新的)"
)
# Each with words of which one must be in the text, since looking for those is a hundred times quicker.
_CALLS = (
    (
        ("(", "（"),
        re.compile(
            r"\b(?:call|invoke|execute|run|trigger|eval)\s+(?:the\s+)?`?[a-z_][a-z0-9_.]*\s?\([^()\n]{0,80}\)"
            r"|(?:调用|調用|执行|執行|运行|運行)\s*`?[a-z_][a-z0-9_.]*\s?[(（]"
        ),
    ),
    (
        ("tool", "function", "_all"),
        re.compile(
            r'["\'](?:tool_calls?|function_call|tool_use|tool_name)["\']\s*:|\bfunctions\.[a-z_]+\b'
            r"|\b(?:wipe|drop|delete)_all\b|\bto=functions|\b(?:tool|function)[_ ]?calls?\s*[:=]"
            r"|\bcall tool\b"
        ),
    ),
    (
        tuple(
            f"{word}_"
            for word in [
                "delete",
                "wipe",
                "drop",
                "send",
                "transfer",
                "remove",
                "purge",
                "erase",
                "grant",
                "pay",
                "exfiltrate",
            ]
        ),
        re.compile(
            r"(?:^|[.!?:;,\n]\s*|\bplease |\band |\bthen |\bnow )(?:call|invoke|execute|use|trigger|run)\s+"
            r"(?:the\s+)?(?:tool\s+|function\s+)?`?(?:[a-z]+_)*"
            r"(?:delete|wipe|drop|send|transfer|remove|purge|erase|grant|pay|exfiltrate)_[a-z_]+"
        ),
    ),
    (
        ("rm -", "curl", "wget", "drop ", "mkfs", "del /", "format c"),
        re.compile(
            r"(?:\b(?:run|execute|type|paste|enter)\b|执行|執行|运行|運行)[^\n]{0,40}?"
            r"(?:\brm\s+-[rf]{1,2}\b|\b(?:curl|wget)\b[^\n|]{0,80}\|\s*(?:ba)?sh\b|\bdrop\s+(?:table|database)\b"
            r"|\bmkfs\b|\bdel\s+/[fsq]\b|\bformat\s+c:)"
        ),
    ),
)
_ROLES = (
    "system", "assistant", "developer", "instruction", "im_", "tool", "function", "invoke", "memor", "sys",
    "inst", "endoftext", "begin_of_text", "start_header", "eot_id", "系统", "系統", "管理员", "管理員",
)  # fmt: skip
# Where a word stands in a long text, so many characters before and after it belong to the call.
_CALL_BEFORE, _CALL_AFTER = 200, 200
_ONLY = re.compile(r"只(?:能|要|需|许)?(?:回答|回复|回覆|输出|说|說)\s*[\"'“「『《]")
# Some programs put isolates around names that they copy; nobody but a deceiver reverses a text.
_OVERRIDE = re.compile("[\u202d\u202e]")
_BIDI = re.compile("[\u202a-\u202c\u2066-\u2069]")
_BIDI_ANY = re.compile("[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_BETWEEN_LETTERS = re.compile(
    "[A-Za-z\u0400-\u04ff\u4e00-\u9fff][\u00ad\u200b\u2060-\u2064\ufeff\u180e\u034f\u200e\u200f]+"
    "[A-Za-z\u0400-\u04ff\u4e00-\u9fff]"
)
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")
_MANY = 3
"""One invisible character inside a word comes with a copied text; several were put there."""
_GREEK_OR_CYRILLIC = re.compile("[\u0370-\u052f]")
_MIXED = re.compile("[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]")


def english_words(text: str) -> list[str]:
    """The words of a folded text, fillers gone, spelt-out words put together."""
    words = _WORD.findall(text)
    if _may_be_spelt(words):
        words = _WORD.findall(_SPELT.sub(_joined, text))
    return [word for word in words if word not in _FILLERS]


def _may_be_spelt(words: Sequence[str]) -> bool:
    """Whether so many single letters follow each other as a word that is spelt out has."""
    run = 0
    for word in words:
        run = run + 1 if len(word) == 1 else 0
        if run == _SPELT_LEAST:
            return True
    return False


def _joined(match: re.Match[str]) -> str:
    # "i g n o r e   a l l": a wider gap separates words.
    parts = re.split(r"[\W_]{2,}", match[0])
    if len(parts) == 1 or any(len(_WORD.findall(part)) < 2 for part in parts):
        return "".join(_WORD.findall(match[0]))
    return " ".join("".join(_WORD.findall(part)) for part in parts)


def chinese_letters(text: str) -> str:
    """A folded text without white space and punctuation."""
    return _NOT_HAN_WORD.sub("", text)


def _narrowed(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "


def _told(found: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    """Each rule once; strong when one of its wordings is."""
    told: dict[str, bool] = {}
    for rule, is_weak in found:
        told[rule] = is_weak and told.get(rule, True)
    return told


# Without one of these no English wording and no combination can be there.
_TELLING = TELLING.union(*(wording.begins for wording in ENGLISH))


class InstructionGate:
    """Marks, reviews or quarantines text that looks like an instruction to its reader."""

    name = NAME

    def __init__(self, policy: GatePolicy) -> None:
        self._policy = policy

    def check(self, statement: Statement) -> GateResult:
        """See `Gate`."""
        strong: dict[str, int] = {}
        weak: dict[str, int] = {}
        for rule, is_weak in self._rules(statement):
            # How answers are to be is what people want remembered; a confirmed wish stays one.
            if rule == "STANDING_ORDER" and statement.trust is TrustLevel.CONFIRMED:
                is_weak = True
            (weak if is_weak else strong)[rule] = (weak if is_weak else strong).get(rule, 0) + 1
        odd, seldom = self._characters(statement)
        found = strong | weak | odd | seldom
        if not found:
            return GateResult(NAME)
        verdict = self._policy.instructions.verdict(statement.trust)
        if not strong and len(weak) < 2:
            # Characters that deceive, without words that order: marked, and not taken away. And of what
            # ordinary people write as well one is told, and nothing is done.
            deceiving = bool(odd) or len(weak | seldom) > 1
            verdict = min(verdict, Verdict.MARK) if deceiving else Verdict.PASS
        return GateResult(
            NAME,
            verdict,
            next(iter(found)) if verdict is not Verdict.PASS else "",
            [Finding(NAME, rule, verdict, count) for rule, count in found.items()],
            trust_ceiling=None if verdict is Verdict.PASS else TrustLevel.LOW,
        )

    def _rules(self, statement: Statement) -> Iterator[tuple[str, bool]]:
        text = statement.folded.text
        # A mark with a page of white space in it is none, and would be looked for in quadratic time.
        narrow = _WIDE.sub(_narrowed, text)
        if any(word in text for word in _ROLES):
            for pattern in (_TAGS, _MARKS, _ROLE_LINE):
                for _ in pattern.finditer(narrow):
                    yield "ROLE_TAG", False
            if "system " in narrow:
                for _ in _PROMPT.finditer(narrow):
                    yield "ROLE_TAG", False
        for needed, call in _CALLS:
            for part in around(narrow, needed, _CALL_BEFORE, _CALL_AFTER):
                for _ in call.finditer(part):
                    yield "TOOL_CALL", False
        if "只" in text and _ONLY.search(narrow):
            yield "STANDING_ORDER", False
        yield from self._wordings(text)
        if statement.folded.hidden or (not text.isascii() and _SELECTORS.search(statement.content)):
            yield "HIDDEN_TEXT", False

    def _wordings(self, text: str) -> Iterator[tuple[str, bool]]:
        # Several patterns of a family, and a combination, may find the same words: told once.
        found = _told(self._english(english_words(text)))
        yield from found.items()
        if not found:
            # Digits in the place of letters: "1gnore a11 previ0us rules".
            tokens = set(_LEET.findall(text))
            found = {}
            for table in (_LEET_LETTERS, _LEET_ONE):
                if any(not known_words().isdisjoint(_WORD.findall(one.translate(table))) for one in tokens):
                    found |= _told(self._english(english_words(text.translate(table))))
            yield from found.items()
        if _HAN.search(text):
            yield from self._chinese(chinese_letters(text))

    @staticmethod
    def _english(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
        present = set(words)
        if _TELLING.isdisjoint(present):
            return
        if len(words) >= LONG:
            yield from english_in(words)
            return
        joined = " ".join(words)
        for wording in ENGLISH:
            if wording.begins.isdisjoint(present) or wording.tells.isdisjoint(present):
                continue
            if wording.pattern.search(joined):
                yield wording.rule, wording.weak
        for rule in combined(joined):
            yield rule, False

    @staticmethod
    def _chinese(letters: str) -> Iterator[tuple[str, bool]]:
        if len(letters) >= LONG:
            yield from chinese_in(letters)
            return
        for wording in CHINESE:
            if wording.needs is not None and not wording.needs.search(letters):
                continue
            if wording.pattern.search(letters):
                yield wording.rule, wording.weak

    @staticmethod
    def _characters(statement: Statement) -> tuple[dict[str, int], dict[str, int]]:
        """Characters that hide or reorder text: how often those that deceive, and those that may happen."""
        content = statement.content
        odd: dict[str, int] = {}
        seldom: dict[str, int] = {}
        if content.isascii():
            return odd, seldom
        # A text has few different characters: to look at those first is much quicker.
        present = "".join(set(content))
        if _BIDI_ANY.search(present) and not _RIGHT_TO_LEFT.search(present):
            reversing, isolating = len(_OVERRIDE.findall(content)), len(_BIDI.findall(content))
            if reversing:
                odd["BIDI_CONTROL"] = reversing
            elif isolating:
                seldom["BIDI_CONTROL"] = isolating
        for rule, possible, pattern in (
            ("INVISIBLE_CHARACTERS", statement.folded.invisible, _BETWEEN_LETTERS),
            ("LOOK_ALIKE_LETTERS", _GREEK_OR_CYRILLIC.search(present), _MIXED),
        ):
            count = len(pattern.findall(content)) if possible else 0
            if count:
                (odd if count >= _MANY else seldom)[rule] = count
        return odd, seldom
