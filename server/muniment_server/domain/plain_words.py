"""What is stored about a subject, in plain words of the subject's language: English or Chinese."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from .consent import Consent, ConsentLevel
from .model import MemoryKind, ScopeKind, SourceType

ENGLISH = "en"
CHINESE = "zh"


@dataclass(frozen=True, slots=True)
class Holding:
    """How many memories of one kind and source are stored, from when to when and until when.

    expiring: how many of them expire by themselves, the last of them at `last_expire`.
    """

    kind: MemoryKind
    source_type: SourceType
    count: int
    oldest: datetime
    newest: datetime
    expiring: int
    last_expire: datetime | None


@dataclass(frozen=True, slots=True)
class _Kind:
    one: str
    many: str
    why: str


_KINDS: Mapping[MemoryKind, _Kind] = {
    MemoryKind.PREFERENCE: _Kind("preference", "preferences", "to do things as you like them"),
    MemoryKind.FACT: _Kind("fact", "facts", "to know what is true about you"),
    MemoryKind.EVENT: _Kind("event", "events", "to know what happened or will happen"),
    MemoryKind.DECISION: _Kind("decision", "decisions", "to stand by what was decided"),
    MemoryKind.RULE: _Kind("rule", "rules", "to follow what you asked for"),
    MemoryKind.SUMMARY: _Kind("summary", "summaries", "to recall what was talked about"),
    MemoryKind.TURN: _Kind("turn of a conversation", "turns of conversations", "to recall what was said"),
}
_KINDS_CHINESE: Mapping[MemoryKind, tuple[str, str]] = {
    MemoryKind.PREFERENCE: ("偏好", "按您喜欢的方式做事"),
    MemoryKind.FACT: ("事实", "了解您的真实情况"),
    MemoryKind.EVENT: ("事件", "了解已经发生或将要发生的事"),
    MemoryKind.DECISION: ("决定", "遵守已作出的决定"),
    MemoryKind.RULE: ("规则", "按您的要求办事"),
    MemoryKind.SUMMARY: ("摘要", "回顾谈过的内容"),
    MemoryKind.TURN: ("对话原文", "回顾说过的话"),
}
_SOURCES: Mapping[SourceType, str] = {
    SourceType.USER_STATED: "because you said so",
    SourceType.USER_CONFIRMED: "because you confirmed it when asked",
    SourceType.AGENT_INFERRED: "because an assistant concluded it",
    SourceType.TOOL: "because a program or a document said so",
    SourceType.THIRD_PARTY: "because somebody else said so",
}
_SOURCES_CHINESE: Mapping[SourceType, str] = {
    SourceType.USER_STATED: "由您本人告知",
    SourceType.USER_CONFIRMED: "经询问由您确认",
    SourceType.AGENT_INFERRED: "由助手推断得出",
    SourceType.TOOL: "来自程序或文档",
    SourceType.THIRD_PARTY: "由他人告知",
}


def language_of(tag: str) -> str:
    """The language that a text exists in for a BCP 47 tag: English unless Chinese is asked for."""
    return CHINESE if tag.split("-")[0].lower() == CHINESE else ENGLISH


def exists_in(tag: str) -> bool:
    """Whether texts exist in the language of a BCP 47 tag; none asks for English."""
    return tag.split("-")[0].lower() in ("", ENGLISH, CHINESE)


def sentence(holding: Holding, language: str) -> str:
    """One holding in a sentence: what, how it was learned, why, since when and how long."""
    return _chinese(holding) if language == CHINESE else _english(holding)


def summary(holdings: Sequence[Holding], consent: Consent, kind: ScopeKind, tag: str) -> str:
    """An account of everything: what is stored, why, how long, and what the subject can do about it.

    consent: what holds, the default of the tenant included. tag: of the language asked for; where the account
    does not exist in it, it is given in English and says so.
    """
    language = language_of(tag)
    total = sum(holding.count for holding in holdings)
    if language == CHINESE:
        about = "关于您" if kind is ScopeKind.SUBJECT else "这个空间里"
        lines = [f"{about}共保存了 {total} 条记忆。" if total else f"{about}没有保存任何记忆。"]
        lines += [sentence(holding, language) for holding in holdings]
        lines.append(_consent_chinese(consent))
        lines.append(
            "您可以随时查看并导出全部内容、要求更正、改变您的同意、指定某次会话不被记住，或要求全部删除。"
        )
        return "\n".join(lines)
    about = "about you" if kind is ScopeKind.SUBJECT else "in this space"
    noun = "memory is" if total == 1 else "memories are"
    lines = [f"{total} {noun} stored {about}." if total else f"Nothing is stored {about}."]
    lines += [sentence(holding, language) for holding in holdings]
    lines.append(_consent_english(consent))
    lines.append(
        "At any time you can see and take along all of it, have it corrected, change your consent, name a "
        "conversation that is not to be remembered, or have everything erased."
    )
    if not exists_in(tag):
        lines.append(
            "This account exists in English and Chinese only, not in the language that was asked for."
        )
    return "\n".join(lines)


def _english(holding: Holding) -> str:
    kind = _KINDS[holding.kind]
    noun = kind.one if holding.count == 1 else kind.many
    days = _day(holding.oldest), _day(holding.newest)
    when = f"on {days[0]}" if days[0] == days[1] else f"between {days[0]} and {days[1]}"
    verb = "was" if holding.count == 1 else "were"
    text = f"{holding.count} {noun} {verb} recorded {when}, {_SOURCES[holding.source_type]}, {kind.why}"
    if holding.expiring and holding.last_expire is not None:
        last = _day(holding.last_expire)
        if holding.expiring == holding.count:
            return f"{text}; not used any more after {last}."
        return (
            f"{text}; {holding.expiring} of them are not used any more after {last}, the others are kept "
            "until you have them erased."
        )
    if holding.count == 1:
        return f"{text}; it is kept until you have it erased."
    return f"{text}; they are kept until you have them erased."


def _chinese(holding: Holding) -> str:
    name, why = _KINDS_CHINESE[holding.kind]
    days = _day(holding.oldest), _day(holding.newest)
    when = f"记录于 {days[0]}" if days[0] == days[1] else f"记录于 {days[0]} 至 {days[1]}"
    text = f"{holding.count} 条{name}，{_SOURCES_CHINESE[holding.source_type]}，{when}，用于{why}；"
    if holding.expiring and holding.last_expire is not None:
        last = _day(holding.last_expire)
        if holding.expiring == holding.count:
            return f"{text}{last} 之后不再使用。"
        return f"{text}其中 {holding.expiring} 条在 {last} 之后不再使用，其余保存到您要求删除为止。"
    return f"{text}保存到您要求删除为止。"


def _consent_english(consent: Consent) -> str:
    match consent.level:
        case ConsentLevel.NONE:
            text = "Nothing new may be remembered, and nothing that is stored is used."
        case ConsentLevel.NECESSARY:
            kinds = ", ".join(_KINDS[kind].many for kind in sorted(consent.necessary_kinds))
            text = f"Only what is necessary may be remembered: {kinds}."
        case _:
            text = "Everything may be remembered."
    return text + _sessions(consent, " {} conversation(s) are not to be remembered.")


def _consent_chinese(consent: Consent) -> str:
    match consent.level:
        case ConsentLevel.NONE:
            text = "不得记录任何新内容，已保存的内容也不会被使用。"
        case ConsentLevel.NECESSARY:
            kinds = "、".join(_KINDS_CHINESE[kind][0] for kind in sorted(consent.necessary_kinds))
            text = f"只可记录必要的内容：{kinds}。"
        case _:
            text = "可以记录所有内容。"
    return text + _sessions(consent, "有 {} 次会话不被记住。")


def _sessions(consent: Consent, pattern: str) -> str:
    return pattern.format(len(consent.forgotten_sessions)) if consent.forgotten_sessions else ""


def _day(instant: datetime) -> date:
    return instant.date()
