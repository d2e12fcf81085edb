"""Written items as the audit tells them: nothing of the content."""

from typing import Any

from muniment_server.audit.events import to_millionths
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import Revision, WriteOutcome
from muniment_server.domain.write_plan import Decision


def written_details(decision: Decision, revision: Revision, screened: Screened) -> dict[str, Any]:
    """One written item as the audit tells it."""
    provenance = screened.provenance
    return {
        "memory_id": str(decision.memory_id),
        "revision": revision.revision,
        "outcome": int(decision.outcome),
        "kind": int(revision.kind),
        "source_type": int(provenance.source_type),
        "trust": int(provenance.trust),
        "superseded_memory_id": str(decision.superseded) if decision.superseded else None,
        "rule": decision.rule,
        "findings": told_findings(screened),
    }


def dropped_details(screened: Screened) -> dict[str, Any]:
    """One item that was not stored as the audit tells it."""
    provenance = screened.provenance
    return {
        "memory_id": None,
        "revision": 0,
        "outcome": int(WriteOutcome.DROPPED),
        "kind": int(screened.item.kind),
        "source_type": int(provenance.source_type),
        "trust": int(provenance.trust),
        "superseded_memory_id": None,
        "rule": screened.rule,
        "findings": told_findings(screened),
        "importance_factors": [
            {
                "name": factor.name,
                "value": to_millionths(factor.value),
                "weight": to_millionths(factor.weight),
                "contribution": to_millionths(factor.contribution),
            }
            for factor in screened.factors
        ],
    }


def told_findings(screened: Screened) -> list[dict[str, Any]]:
    """What the gates found, as the audit tells it: nothing of the content."""
    return [
        {"gate": one.gate, "rule": one.rule, "verdict": int(one.verdict), "count": one.count}
        for one in screened.findings
    ]
