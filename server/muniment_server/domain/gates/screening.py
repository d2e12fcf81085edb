"""All gates over one item: what is stored of it, in which state, how far it is trusted, and why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from muniment_server.domain.importance import Factor, importance
from muniment_server.domain.model import MemoryState, NewMemory, Provenance

from .base import Finding, Gate, GateResult, Statement, Verdict
from .form import FormGate
from .instructions import InstructionGate
from .policy import GatePolicy
from .secrets import personal_data_gate, redacted, redacted_json, secrets_gate
from .standing import ConfidenceGate
from .stuffing import StuffingGate

IMPORTANCE = "importance"
BELOW_THRESHOLD = "IMPORTANCE_BELOW_THRESHOLD"

_STATES = {Verdict.REVIEW: MemoryState.PENDING, Verdict.QUARANTINE: MemoryState.QUARANTINED}


@dataclass(frozen=True, slots=True)
class Screened:
    """An item after the gates.

    item, provenance: as they are to be stored: redacted, with the trust that the gates leave.
    indexed: the text that vector and index are made of; other than the content where something may be
    stored but not indexed.
    verdict, rule: the severest verdict and the rule that gave it; the rule is empty for PASS.
    refused: the field of the item that a REJECT is about. in_place_of: the memory that it would replace if a
    reviewer approves it; otherwise: what holds when that memory is not live any more.
    """

    item: NewMemory
    provenance: Provenance
    indexed: str
    verdict: Verdict = Verdict.PASS
    rule: str = ""
    gate: str = ""
    findings: tuple[Finding, ...] = ()
    factors: tuple[Factor, ...] = ()
    refused: str = ""
    in_place_of: UUID | None = None
    otherwise: "Screened | None" = None

    @property
    def state(self) -> MemoryState:
        """The state in which a new memory begins."""
        return _STATES.get(self.verdict, MemoryState.ACTIVE)

    @property
    def dropped(self) -> bool:
        """Whether nothing is stored."""
        return self.verdict is Verdict.DROP

    @property
    def redacted(self) -> bool:
        """Whether placeholders stand in what is stored."""
        return any(finding.placeholder for finding in self.findings)


class Screening:
    """The gates of one tenant's policy. Pure and stateless: one object serves every call."""

    def __init__(self, policy: GatePolicy, *, extraction: bool = False) -> None:
        """Set up the gates; `extraction`: for what an extractor proposes, which must be worth more."""
        self._policy = policy
        self._threshold = policy.extraction_min_importance if extraction else policy.min_importance
        self._sensitive = (secrets_gate(policy), personal_data_gate(policy))
        self._gates: Sequence[Gate] = (
            FormGate(),
            *self._sensitive,
            InstructionGate(policy),
            StuffingGate(policy),
            ConfidenceGate(policy),
        )

    def screen(
        self,
        item: NewMemory,
        provenance: Provenance,
        now: datetime,
        *,
        force: bool = False,
        times_said: int = 1,
        corrects: bool = False,
    ) -> Screened:
        """Judge one item. force: keep it whatever its importance."""
        statement = Statement(
            item.content, item.kind, provenance.trust, provenance.source_type, provenance.confidence
        )
        results = [gate.check(statement) for gate in self._gates]
        replacements = [one for result in results for one in result.replacements]
        content = redacted(item.content, replacements) if replacements else item.content
        indexed = redacted(item.content, replacements, for_index=True) if replacements else item.content
        after = item
        if content != item.content or indexed != item.content:
            # A caller's vector says what the caller's text says.
            masked = indexed if indexed != content else None
            after = replace(after, content=content, masked=masked, embedding=None)
        if item.attributes is not None:
            attributes, inside = redacted_json(item.attributes, self._sensitive, statement)
            after = replace(after, attributes=attributes)
            results += inside
        field = self._label(item, statement)
        if field is not None:
            results.append(field[1])
        worst = max(results, key=lambda one: one.verdict)
        findings = merged(results)
        factors: tuple[Factor, ...] = ()
        verdict, rule, gate = worst.verdict, worst.rule, worst.gate
        if self._threshold > 0:
            judged = importance(
                content,
                item.kind,
                provenance.source_type,
                lasts=_lasts(item, now),
                times_said=times_said,
                corrects=corrects,
                adjust=self._policy.importance_factors,
            )
            factors = judged.factors
            if judged.score < self._threshold and not force and verdict < Verdict.DROP:
                verdict, rule, gate = Verdict.DROP, BELOW_THRESHOLD, IMPORTANCE
                findings = (*findings, Finding(IMPORTANCE, BELOW_THRESHOLD, Verdict.DROP))
        ceilings = [one.trust_ceiling for one in results if one.trust_ceiling is not None]
        trust = min([provenance.trust, *ceilings])
        return Screened(
            item=after,
            provenance=provenance if trust == provenance.trust else replace(provenance, trust=trust),
            indexed=indexed,
            verdict=verdict,
            rule=rule,
            gate=gate,
            findings=findings,
            factors=factors,
            refused=field[0] if field is not None and worst is field[1] else "content",
        )

    def _label(self, item: NewMemory, like: Statement) -> tuple[str, GateResult] | None:
        """What stands in clear is refused: with a placeholder in it, filters would find something else."""
        for name, text in _labels(item):
            statement = Statement(text, like.kind, like.trust, like.source_type)
            for gate in self._sensitive:
                result = gate.check(statement)
                if result.findings:
                    rejected = [
                        replace(one, verdict=Verdict.REJECT, placeholder="") for one in result.findings
                    ]
                    return name, GateResult(gate.name, Verdict.REJECT, rejected[0].rule, rejected)
        return None


def _labels(item: NewMemory) -> list[tuple[str, str]]:
    labels = [(f"tags[{index}]", tag) for index, tag in enumerate(item.tags)]
    if item.slot:
        labels.append(("slot", item.slot))
    if item.provenance.source_ref:
        labels.append(("provenance.source_ref", item.provenance.source_ref))
    labels += [
        (f"properties[{key}]", value) for key, value in item.properties.items() if isinstance(value, str)
    ]
    return labels


def merged(results: Sequence[GateResult]) -> tuple[Finding, ...]:
    """The findings of all results, those of one rule and verdict as one."""
    found: dict[tuple[str, str, Verdict], Finding] = {}
    for finding in (one for result in results for one in result.findings):
        key = (finding.gate, finding.rule, finding.verdict)
        earlier = found.get(key)
        found[key] = finding if earlier is None else replace(earlier, count=earlier.count + finding.count)
    return tuple(found.values())


def _lasts(item: NewMemory, now: datetime) -> timedelta | None:
    ends = [end for end in (item.expire_time, item.validity.end) if end is not None]
    spans = [max(timedelta(0), end - now) for end in ends]
    if item.ttl is not None:
        spans.append(item.ttl)
    return min(spans, default=None)
