"""The encrypted record of an ingest, and whose word it may be taken for."""

import os
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from muniment_server.application.ingest_body import (
    IngestBody,
    Outcome,
    PendingTurn,
    Writer,
    claimable,
    open_body,
    role_of,
    role_source,
)
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.extraction.candidate import ExtractorKind, Fallback, IngestState, TurnRole
from muniment_server.domain.gates.base import Finding, Verdict
from muniment_server.domain.importance import Factor
from muniment_server.domain.model import EmbeddingState, SourceType, TrustLevel, WriteOutcome
from muniment_server.identity.principal import Permission, Principal

S = SourceType


def key() -> ScopeKey:
    return ScopeKey(uuid4(), uuid4(), 1, os.urandom(32))


def writer(**fields: Any) -> Writer:
    return replace(
        Writer(uuid4(), "api_key", (1, 3), 4, "planner", "muniment-go/1", "acme", "ab" * 16, "cd" * 8),
        **fields,
    )


def body() -> IngestBody:
    outcome = Outcome(
        WriteOutcome.DROPPED,
        None,
        None,
        EmbeddingState.READY,
        "IMPORTANCE_BELOW_THRESHOLD",
        (Finding("importance", "IMPORTANCE_BELOW_THRESHOLD", Verdict.DROP, 1),),
        (Factor("kind", 0.2, 0.35, 0.07),),
        (3, 4),
        "llm/v1",
    )
    return IngestBody(
        writer(),
        ExtractorKind.HYBRID,
        IngestState.QUEUED,
        "planner",
        (PendingTurn(5, TurnRole.TOOL, uuid4()),),
        (outcome, replace(outcome, outcome=WriteOutcome.CREATED, memory_id=uuid4(), rule=None)),
        ExtractorKind.RULES,
        Fallback.LLM_TIMEOUT,
    )


def test_a_body_comes_back_as_it_was() -> None:
    one, scope, ingest_id = body(), key(), uuid4()
    assert open_body(scope, ingest_id, one.seal(scope, ingest_id)) == one


def test_a_body_of_another_place_or_that_was_changed_does_not_open() -> None:
    scope, ingest_id = key(), uuid4()
    sealed = body().seal(scope, ingest_id)
    for other, place, data in (
        (scope, uuid4(), sealed),
        (key(), ingest_id, sealed),
        (scope, ingest_id, sealed[:-1] + bytes((sealed[-1] ^ 1,))),
        (scope, ingest_id, scope.encrypt(b"{}", "ingest", ingest_id.bytes)),
        (scope, ingest_id, scope.encrypt(b"[", "ingest", ingest_id.bytes)),
        (scope, ingest_id, b""),
    ):
        with pytest.raises(IntegrityViolation):
            open_body(other, place, data)


def test_the_worker_has_the_rights_of_the_writer_and_only_to_write() -> None:
    tenant = uuid4()
    context = writer().context(tenant, 5.0)
    assert context.principal.permissions == {Permission.WRITE}
    assert context.principal.source_types == {S.USER_STATED, S.AGENT_INFERRED}
    assert context.principal.max_trust is TrustLevel.HIGH
    assert (context.principal.agent, context.tenant_id) == ("planner", tenant)
    assert writer(trace_id="0").same_rights(writer()) is False, "another credential"
    one = writer()
    assert one.same_rights(replace(one, trace_id="00", client=None))
    assert not one.same_rights(replace(one, source_types=(1, 2, 3)))


@pytest.mark.parametrize(
    ("allowed", "role", "source"),
    [
        ({S.USER_STATED, S.TOOL}, TurnRole.USER, S.USER_STATED),
        ({S.AGENT_INFERRED, S.TOOL}, TurnRole.USER, S.AGENT_INFERRED),
        ({S.TOOL, S.THIRD_PARTY}, TurnRole.USER, S.TOOL),
        ({S.USER_CONFIRMED}, TurnRole.USER, S.USER_STATED),
        ({S.USER_STATED, S.AGENT_INFERRED}, TurnRole.TOOL, S.TOOL),
        ({S.TOOL}, TurnRole.OTHER, S.TOOL),
        ({S.USER_STATED, S.TOOL}, TurnRole.AGENT, S.TOOL),
    ],
)
def test_a_role_is_claimed_as_far_as_the_credential_goes(
    allowed: set[SourceType], role: TurnRole, source: SourceType
) -> None:
    principal = Principal(uuid4(), "api_key", {}, frozenset(), frozenset(allowed), TrustLevel.CONFIRMED)
    # Where it can claim neither the source nor a weaker one, the source stays and the write is refused.
    assert role_source(principal, role) is source
    found = claimable(principal, role_source(principal, role))
    assert found is None or found in allowed


def test_every_source_has_a_role() -> None:
    assert [role_of(source) for source in SourceType] == [
        TurnRole.USER,
        TurnRole.USER,
        TurnRole.AGENT,
        TurnRole.TOOL,
        TurnRole.OTHER,
    ]
