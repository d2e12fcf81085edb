"""What the subject allows: judged under the scope's lock, so that a changed consent counts at once."""

from collections.abc import Sequence
from dataclasses import replace

from muniment_server.domain.gates.base import Finding, Verdict
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import Scope, ScopeRow
from muniment_server.domain.settings import TenantSettings

from .consenting import consent_of

GATE = "consent"


def admitted(
    row: ScopeRow, settings: TenantSettings, scope: Scope, screened: Sequence[Screened]
) -> list[Screened]:
    """The items after consent; what may not be remembered comes back as dropped.

    row: genuine and locked. scope: with the session that the call names.
    """
    consent = consent_of(row, settings)
    judged = []
    for one in screened:
        rule = consent.refusal(one.item.kind, (scope.session, one.provenance.session))
        if rule is not None:
            finding = Finding(GATE, rule, Verdict.DROP)
            one = replace(
                one, verdict=Verdict.DROP, gate=GATE, rule=rule, findings=(*one.findings, finding), factors=()
            )
        judged.append(one)
    return judged
