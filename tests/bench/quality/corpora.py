"""Reads conversations and questions with gold turns from the files of a folder.

| files | format |
| --- | --- |
| `locomo*.json` | a list of samples: `sample_id`, `turns` (`id`, `session`, `date_time`, `speaker`, `text`, optional `image_caption`), `questions` (`qid`, `category`, `question`, `gold`) |
| `memorybank-{cn,en}-items*.jsonl` | one turn a line: `lang`, `user`, `item`, `date`, `speaker`, `text` |
| `memorybank-{cn,en}-questions*.jsonl` | one question a line: `lang`, `user`, `qid`, `question`, `gold`, optional `note` |

A `note` with `alt: GOLD = ID[, ID]` names turns that count for that gold as well. Questions without gold
are left out.
"""  # noqa: E501

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_ALTERNATIVE = re.compile(r"(?:cn|en)-u\d+-\d+-\d+")
_FORMS = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %b, %Y", "%d %B, %Y", "%B %d, %Y", "%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation. `place` counts from 1 within the session; `caption`: of a shared image."""

    turn_id: str
    session: str
    place: int
    speaker: str
    text: str
    time: datetime | None
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its gold turns, and for each of them the turns that count for it as well."""

    question_id: str
    group: str
    text: str
    gold: tuple[str, ...]
    also: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Conversation:
    """What one subject is told, and what is asked about it."""

    corpus: str
    name: str
    turns: list[Turn] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def read_folder(folder: Path) -> list[Conversation]:
    """Every conversation of a folder that has turns and questions, by corpus and name.

    Raises ValueError when there is none, or when a file cannot be understood.
    """
    found: dict[tuple[str, str], Conversation] = {}
    for path in sorted(folder.glob("locomo*.json")):
        with _named(path):
            for conversation in _locomo(path):
                found.setdefault((conversation.corpus, conversation.name), conversation)
    for language in ("cn", "en"):
        items = sorted(folder.glob(f"memorybank-{language}-items*.jsonl"))
        questions = sorted(folder.glob(f"memorybank-{language}-questions*.jsonl"))
        for path in items:
            with _named(path):
                _memorybank_items(path, language, found)
        for path in questions:
            with _named(path):
                _memorybank_questions(path, language, found)
    conversations = [each for each in found.values() if each.turns and each.questions]
    if not conversations:
        raise ValueError(f"{folder} holds no locomo*.json and no memorybank-{{cn,en}}-*.jsonl with questions")
    return conversations


class _named:  # noqa: N801 - reads as a word of the statement
    """Says which file an error is about."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, (ValueError, KeyError, TypeError)):
            raise ValueError(f"{self._path.name}: {type(error).__name__}: {error}") from error


def _locomo(path: Path) -> Iterator[Conversation]:
    for sample in json.loads(path.read_text(encoding="utf-8")):
        name = str(sample["sample_id"])
        conversation = Conversation("locomo", name)
        places: dict[str, int] = {}
        for turn in sample["turns"]:
            session = str(turn.get("session") or turn["id"].partition(":")[0])
            places[session] = places.get(session, 0) + 1
            conversation.turns.append(
                Turn(
                    turn["id"],
                    session,
                    places[session],
                    str(turn.get("speaker") or ""),
                    str(turn.get("text") or ""),
                    read_time(str(turn.get("date_time") or "")),
                    str(turn.get("image_caption") or ""),
                )
            )
        for number, one in enumerate(sample["questions"]):
            if one["gold"]:
                conversation.questions.append(
                    Question(
                        f"{name}/{one.get('qid', f'q{number}')}",
                        f"category {one.get('category', '?')}",
                        one["question"],
                        tuple(one["gold"]),
                    )
                )
        yield conversation


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def _person(found: dict[tuple[str, str], Conversation], language: str, user: str) -> Conversation:
    corpus = f"memorybank-{language}"
    return found.setdefault((corpus, user), Conversation(corpus, user))


def _memorybank_items(path: Path, language: str, found: dict[tuple[str, str], Conversation]) -> None:
    places: dict[tuple[str, str], int] = {}
    # A folder may hold a whole set and a part of it.
    known = {turn.turn_id for conversation in found.values() for turn in conversation.turns}
    for one in _lines(path):
        if one["item"] in known:
            continue
        user, day = str(one["user"]), str(one.get("date") or "")
        conversation = _person(found, language, user)
        places[user, day] = places.get((user, day), 0) + 1
        conversation.turns.append(
            Turn(
                one["item"],
                day,
                places[user, day],
                str(one.get("speaker") or ""),
                str(one.get("text") or ""),
                read_time(day),
            )
        )


def _memorybank_questions(path: Path, language: str, found: dict[tuple[str, str], Conversation]) -> None:
    known = {question.question_id for conversation in found.values() for question in conversation.questions}
    for one in _lines(path):
        if not one["gold"] or one["qid"] in known:
            continue
        also: dict[str, list[str]] = {}
        _, _, tail = str(one.get("note") or "").partition("alt:")
        for part in tail.split(";"):
            gold, sign, ids = part.partition("=")
            if sign:
                also[gold.strip()] = _ALTERNATIVE.findall(ids)
        _person(found, language, str(one["user"])).questions.append(
            Question(one["qid"], language, one["question"], tuple(one["gold"]), also)
        )


def read_time(text: str) -> datetime | None:
    """An instant from the forms in which these files write one, as UTC; None for another form."""
    text = text.strip()
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        pass
    for form in _FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
