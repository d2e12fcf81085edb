"""What the tests of the gates have in common: statements, corpora, and how a gate did on one."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from muniment_server.domain.gates.policy import DEFAULT_POLICY, GatePolicy
from muniment_server.domain.gates.screening import Screened, Screening
from muniment_server.domain.model import (
    DEFAULT_TRUST,
    MemoryKind,
    NewMemory,
    Provenance,
    SourceType,
    TrustLevel,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
_DATA = Path(__file__).with_name("data")
_DEFAULT = Screening(DEFAULT_POLICY)


def corpus(name: str) -> list[str]:
    """The lines of a file in `data`."""
    return _DATA.joinpath(name).read_text(encoding="utf-8").splitlines()


def screened(
    text: str,
    source: SourceType = SourceType.AGENT_INFERRED,
    *,
    policy: GatePolicy | None = None,
    kind: MemoryKind = MemoryKind.FACT,
    trust: TrustLevel | None = None,
    confidence: float | None = None,
    force: bool = False,
    **fields: object,
) -> Screened:
    """A statement after the gates."""
    screening = Screening(policy) if policy else _DEFAULT
    provenance = Provenance(source, trust or DEFAULT_TRUST[source], confidence, None, None, "key", None)
    return screening.screen(NewMemory(text, kind, **fields), provenance, NOW, force=force)  # type: ignore[arg-type]


def rules(text: str, gate: str) -> set[str]:
    """The rules of a gate that found something, whatever was done about it."""
    return {one.rule for one in screened(text).findings if one.gate == gate}


def measured(
    name: str, positive: Iterable[str], negative: Iterable[str], found: Callable[[str], bool]
) -> tuple[float, float]:
    """Precision and recall of a detector on its corpus, printed with what it got wrong."""
    good, bad = list(positive), list(negative)
    missed = [text for text in good if not found(text)]
    wrong = [text for text in bad if found(text)]
    hits = len(good) - len(missed)
    precision, recall = hits / max(1, hits + len(wrong)), hits / len(good)
    print(f"{name}: precision {precision:.3f}, recall {recall:.3f} ({len(good)} to find, {len(bad)} not)")
    for text in missed:
        print("  missed:", text)
    for text in wrong:
        print("  wrong:", text)
    return precision, recall
