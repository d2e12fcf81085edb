"""The gate for stored instructions: text that addresses the model which will read it one day.

A memory is data. Nobody who remembers a fact tells its reader to ignore rules, to call tools or to keep
quiet about it. The gate reads what a person would read (`folding.py`), puts apart again what was pulled
apart, leaves out fillers, and looks for wordings (`wording.py`), marks of roles and tools, and characters
that hide or reorder text. It looks for forms, not for intent: a paraphrase in plain, polite words passes.
"""

import re
from collections.abc import Iterator

from muniment_server.domain.model import TrustLevel

from .base import Finding, GateResult, Statement, Verdict
from .combinations import TELLING, combined
from .folding import word_set
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
# From the start of a run only: tried at every character, a long run would take quadratic time.
_LEET = re.compile(r"(?<![a-z0-9@$!|])(?=[a-z0-9@$!|]*[a-z])(?=[a-z0-9@$!|]*[0-9@$!|])[a-z0-9@$!|]{2,}")
_LEET_LETTERS = str.maketrans("0134578@$!|", "oieastbasil")
_LEET_ONE = str.maketrans("0134578@$!|", "oleastbasll")
_HAN = re.compile("[\u4e00-\u9fff]")
_NOT_HAN_WORD = re.compile("[^\u4e00-\u9fffa-z0-9]+")

_TAGS = re.compile(
    r"<\s*/?\s*(?:system|assistant|developer|instructions?|im_start|im_end|tool_call|tool_use|tool_result"
    r"|function_calls?|invoke|functions?|tools?|tool_code|memory|memories|system[-_ ]prompt|sys|inst)"
    r"\s*(?:>|/>|=[^<>]{0,80}>|\s[^<>]{0,80}>)"
    r"|<\|\s*(?:im_start|im_end|system|assistant|user|endoftext|begin_of_text|start_header_id|eot_id)"
    r"[^<>|]{0,20}\|>|\[/?inst\]|<<\s*/?sys\s*>>"
    r"|#{2,}\s*(?:system|instruction|new instructions?|assistant|developer)\s*(?::|\n|$)"
    r"|(?:begin|end|start) (?:of )?system (?:prompt|message)"
    r"|[\[【(]\s*(?:system|系统|系統|developer|管理员|管理員)"
    r"\s*(?:prompt|message|override|note|提示|指令|消息|訊息|命令)?\s*[\])】]"
)
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
_ONLY = re.compile(r"只(?:能|要|需|许)?(?:回答|回复|回覆|输出|说|說)\s*[\"'“「『《]")
# Some programs put isolates around names that they copy; nobody but a deceiver reverses a text.
_OVERRIDE = re.compile("[\u202d\u202e]")
_BIDI = re.compile("[\u202a-\u202c\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_BETWEEN_LETTERS = re.compile(
    "[A-Za-z\u0400-\u04ff\u4e00-\u9fff][\u00ad\u200b\u2060-\u2064\ufeff\u180e\u034f\u200e\u200f]+"
    "[A-Za-z\u0400-\u04ff\u4e00-\u9fff]"
)
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")
_MANY = 3
"""One invisible character inside a word comes with a copied text; several were put there."""
_MIXED = re.compile("[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]")


def english_words(text: str) -> str:
    """The words of a folded text, one space between them, fillers gone, spelt-out words put together."""
    text = _SPELT.sub(_joined, text)
    return " ".join(word for word in _WORD.findall(text) if word not in _FILLERS)


def _joined(match: re.Match[str]) -> str:
    # "i g n o r e   a l l": a wider gap separates words.
    parts = re.split(r"[\W_]{2,}", match[0])
    if len(parts) == 1 or any(len(_WORD.findall(part)) < 2 for part in parts):
        return "".join(_WORD.findall(match[0]))
    return " ".join("".join(_WORD.findall(part)) for part in parts)


def chinese_letters(text: str) -> str:
    """A folded text without white space and punctuation."""
    return _NOT_HAN_WORD.sub("", text)


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
        if any(word in text for word in _ROLES):
            for _ in _TAGS.finditer(text):
                yield "ROLE_TAG", False
            for _ in _ROLE_LINE.finditer(text):
                yield "ROLE_TAG", False
        for needed, call in _CALLS:
            if any(word in text for word in needed):
                for _ in call.finditer(text):
                    yield "TOOL_CALL", False
        if "只" in text and _ONLY.search(text):
            yield "STANDING_ORDER", False
        yield from self._wordings(text)
        if statement.folded.hidden or (not text.isascii() and _SELECTORS.search(statement.content)):
            yield "HIDDEN_TEXT", False

    def _wordings(self, text: str) -> Iterator[tuple[str, bool]]:
        # Several patterns of a family, and a combination, may find the same words: told once.
        found = dict(self._english(english_words(text)))
        yield from found.items()
        if not found and _LEET.search(text):
            # Digits in the place of letters: "1gnore a11 previ0us rules".
            rules: dict[str, bool] = {}
            for table in (_LEET_LETTERS, _LEET_ONE):
                rules |= dict(self._english(english_words(text.translate(table))))
            yield from rules.items()
        if _HAN.search(text):
            letters = chinese_letters(text)
            for wording in CHINESE:
                if wording.needs is not None and not wording.needs.search(letters):
                    continue
                if wording.pattern.search(letters):
                    yield wording.rule, wording.weak

    @staticmethod
    def _english(words: str) -> Iterator[tuple[str, bool]]:
        present = set(words.split(" "))
        if _TELLING.isdisjoint(present):
            return
        for wording in ENGLISH:
            if wording.begins.isdisjoint(present) or wording.tells.isdisjoint(present):
                continue
            if wording.pattern.search(words):
                yield wording.rule, wording.weak
        for rule in combined(words):
            yield rule, False

    @staticmethod
    def _characters(statement: Statement) -> tuple[dict[str, int], dict[str, int]]:
        """Characters that hide or reorder text: how often those that deceive, and those that may happen."""
        content = statement.content
        odd: dict[str, int] = {}
        seldom: dict[str, int] = {}
        if content.isascii():
            return odd, seldom
        if not _RIGHT_TO_LEFT.search(content):
            reversing, isolating = len(_OVERRIDE.findall(content)), len(_BIDI.findall(content))
            if reversing:
                odd["BIDI_CONTROL"] = reversing
            elif isolating:
                seldom["BIDI_CONTROL"] = isolating
        for rule, pattern in (("INVISIBLE_CHARACTERS", _BETWEEN_LETTERS), ("LOOK_ALIKE_LETTERS", _MIXED)):
            count = len(pattern.findall(content))
            if count:
                (odd if count >= _MANY else seldom)[rule] = count
        return odd, seldom
