"""The figures of docs/writing.md: what each detector finds and leaves alone on the corpora here."""

from muniment_server.domain.gates.base import Verdict
from muniment_server.domain.gates.policy import GatePolicy, Handling, Sensitive
from muniment_server.domain.model import MemoryKind, SourceType

from .disguises import CHINESE, DISGUISES, ENGLISH, ORDINARY, WORDED, suspicious
from .samples import MADE, innocent, sentences
from .support import corpus, measured, screened

ALL = GatePolicy(sensitive=dict.fromkeys(Sensitive, Handling.REDACT))
"""Every detector on."""


def found_in(text: str) -> set[str]:
    """The sorts found with every detector on."""
    return {one.rule for one in screened(text, policy=ALL).findings}


def detected(sort: Sensitive) -> tuple[float, float]:
    """Precision and recall of one detector of secrets and personal data, with the others on as well."""
    return measured(
        sort.value, sentences(MADE[sort]), innocent(sort), lambda text: sort.value in found_in(text)
    )


def stuffing() -> tuple[float, float]:
    """Precision and recall of the gate for stuffing."""
    return measured(
        "stuffing",
        corpus("stuffed.txt"),
        HONEST,
        lambda text: any(one.gate == "stuffing" for one in screened(text).findings),
    )


HONEST = [
    *ORDINARY,
    *corpus("repetitive.txt"),
    " ".join(corpus("ordinary-en.txt")),
    "".join(corpus("ordinary-zh.txt")),
]


def touched(source: SourceType) -> list[tuple[str, str]]:
    """Ordinary sentences of a source that a gate does anything about, each with the rule."""
    found = []
    for text in ORDINARY:
        after = screened(text, source, kind=MemoryKind.PREFERENCE)
        if after.verdict is not Verdict.PASS or after.item.content != text:
            found.append((text, after.rule))
    return found


def table() -> list[str]:
    """The rows of the table in the documentation."""
    rows = []
    for sort in Sensitive:
        precision, recall = detected(sort)
        rows.append(_row(f"`{sort.value}`", len(MADE[sort]), len(innocent(sort)), precision, recall))
    instructions = [*ENGLISH, *CHINESE]
    precision, recall = measured("instructions", instructions, ORDINARY, suspicious)
    rows.append(_row("stored instructions", len(instructions), len(ORDINARY), precision, recall))
    least = min(
        measured(name, [disguise(text) for text in WORDED], [], suspicious)[1]
        for name, disguise in DISGUISES.items()
        if name != "plain"
    )
    disguised = f"the same in English, the worst of {len(DISGUISES) - 1} disguises"
    rows.append(f"| {disguised} | {len(WORDED)} | | | {least:.2f} |")
    precision, recall = stuffing()
    rows.append(_row("stuffing", len(corpus("stuffed.txt")), len(HONEST), precision, recall))
    most = max(len(touched(each)) for each in SourceType if each is not SourceType.THIRD_PARTY)
    rows.append(f"| ordinary sentences touched by any gate | | {len(ORDINARY)} | {most} touched | |")
    return rows


def _row(name: str, positive: int, negative: int, precision: float, recall: float) -> str:
    return f"| {name} | {positive} | {negative} | {precision:.2f} | {recall:.2f} |"
