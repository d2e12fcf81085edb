"""The gates for secrets and for personal data; both by the same means, with policies of their own."""

import json
from collections.abc import Sequence
from typing import Any

from muniment_server.domain.model import MemoryKind

from .base import MAX_SPANS, Finding, GateResult, Replacement, Statement, Verdict
from .policy import GatePolicy, Handling, Sensitive
from .sensitive import SECRETS, Span, detect

NOT_LOOKED_THROUGH = "NOT_LOOKED_THROUGH"
"""Rule: a text has more of what might be sensitive than is looked at, so a person does."""

_SHORTEST = 6
"""Characters of the shortest thing that is looked for, an e-mail address."""
_VERDICTS = {
    Handling.ALLOW: Verdict.PASS,
    Handling.ENCRYPT_ONLY: Verdict.PASS,
    Handling.REDACT: Verdict.REDACT,
    Handling.REJECT: Verdict.REJECT,
}


class SensitiveGate:
    """Finds one group of sensitive data and does what the policy says for each sort."""

    def __init__(self, name: str, sorts: frozenset[Sensitive], policy: GatePolicy) -> None:
        self.name = name
        self._sorts = sorts
        self._policy = policy
        self._wanted_by_kind = {kind: self._wanted(kind) for kind in MemoryKind}

    def check(self, statement: Statement) -> GateResult:
        """See `Gate`."""
        wanted = self._wanted_by_kind[statement.kind]
        if not wanted:
            return GateResult(self.name)
        folded = statement.folded
        spans, whole = detect(folded.visible, wanted, self._policy.regions)
        found = [(sort, folded.span(*span)) for sort, span in spans]
        if not found and whole:
            return GateResult(self.name)
        handled = {sort: self._policy.handling(sort, statement.kind) for sort, _ in found}
        findings = [self._finding(sort, handling, found) for sort, handling in handled.items()]
        if not whole:
            findings.append(Finding(self.name, NOT_LOOKED_THROUGH, Verdict.REVIEW))
        worst = max(findings, key=lambda one: one.verdict)
        return GateResult(
            self.name,
            worst.verdict,
            worst.rule,
            findings,
            [
                Replacement(start, end, sort.placeholder, handled[sort] is Handling.ENCRYPT_ONLY)
                for sort, (start, end) in found
                if handled[sort] in (Handling.REDACT, Handling.ENCRYPT_ONLY)
            ],
        )

    def _wanted(self, kind: MemoryKind) -> frozenset[Sensitive]:
        """The sorts that are looked for in memories of a kind."""
        return frozenset(
            sort for sort in self._sorts if self._policy.handling(sort, kind) is not Handling.ALLOW
        )

    def _finding(
        self, sort: Sensitive, handling: Handling, found: Sequence[tuple[Sensitive, Span]]
    ) -> Finding:
        spans = [span for each, span in found if each is sort]
        return Finding(
            self.name,
            sort.value,
            _VERDICTS[handling],
            len(spans),
            tuple(spans[:MAX_SPANS]),
            sort.placeholder if handling is Handling.REDACT else "",
        )


def secrets_gate(policy: GatePolicy) -> SensitiveGate:
    """API keys, private keys, tokens."""
    return SensitiveGate("secrets", SECRETS, policy)


def personal_data_gate(policy: GatePolicy) -> SensitiveGate:
    """Cards, accounts, resident IDs, telephone numbers, e-mail addresses."""
    return SensitiveGate("personal_data", frozenset(Sensitive) - SECRETS, policy)


def redacted(text: str, replacements: Sequence[Replacement], *, for_index: bool = False) -> str:
    """The text with its placeholders; `for_index` also those that only the index sees."""
    parts: list[str] = []
    place = 0
    for one in sorted(replacements, key=lambda each: each.start):
        if one.keep_text and not for_index:
            continue
        parts += [text[place : one.start], one.placeholder]
        place = one.end
    return "".join([*parts, text[place:]])


def redacted_json(text: str, gates: Sequence[SensitiveGate], like: Statement) -> tuple[str, list[GateResult]]:
    """A JSON object with the placeholders in its values, and what was found in it.

    What is only encrypted anyway stays: attributes are in no index.
    """
    results: list[GateResult] = []

    def visit(value: Any) -> Any:
        match value:
            case dict():
                return {key: visit(each) for key, each in value.items()}
            case list():
                return [visit(each) for each in value]
            case bool() | None:
                return value
            case int() | float():
                shown = str(int(value)) if float(value).is_integer() else ""
                after = visit(shown)
                return value if after == shown else after
            case _ if len(value) < _SHORTEST:
                return value
            case _:
                statement = Statement(value, like.kind, like.trust, like.source_type)
                found = [gate.check(statement) for gate in gates]
                results.extend(one for one in found if one.findings)
                return redacted(value, [each for one in found for each in one.replacements])

    whole = Statement(text, like.kind, like.trust, like.source_type)
    if not any(gate.check(whole).findings for gate in gates):
        return text, []
    after = json.dumps(visit(json.loads(text)), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return after, results
