"""What the record of an ingest holds: who ingested and what he may do, what is still to be looked at, and
what became of the rest. Kept encrypted under the scope's key, which also proves that it is ours: whoever can
write to the database can neither give a writer more rights nor turn what a tool said into the user's word.

Nothing of a text is in it: results are ids, outcomes and rules.
"""

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from uuid import UUID

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.framing import frame
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.extraction.candidate import (
    ROLE_SOURCE,
    ExtractorKind,
    Fallback,
    IngestState,
    Turn,
    TurnRole,
)
from muniment_server.domain.gates.base import Finding, Verdict
from muniment_server.domain.importance import Factor
from muniment_server.domain.model import DEFAULT_TRUST, EmbeddingState, SourceType, TrustLevel, WriteOutcome
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import CallContext, Permission, Principal

METHOD = "muniment.v1.MemoryService/Ingest"
_KIND = "ingest"
_TURN = b"muniment.turn.v1"
_UUID_8 = ((0xF << 76) | (0x3 << 62), (0x8 << 76) | (0x2 << 62))


def conversation_id(key: TenantKey, scope_id: UUID, agent: str | None, session: str) -> UUID:
    """The id of a conversation: a UUIDv8 that only the tenant's key gives."""
    digest = key.mac("conversation", frame(scope_id.bytes, (agent or "").encode(), session.encode()))
    mask, version = _UUID_8
    return UUID(int=int.from_bytes(digest[:16]) & ~mask | version)


def turn_digest(key: ScopeKey, conversation: UUID, turn: Turn, memory_id: UUID | None) -> bytes:
    """32 bytes by which a turn is known again, and which prove where it is kept."""
    return key.seal(
        frame(
            _TURN,
            conversation.bytes,
            turn.number.to_bytes(8),
            bytes((turn.role,)),
            (turn.speaker or "").encode(),
            turn.content.encode(),
            memory_id.bytes if memory_id else b"",
        )
    )


def claimable(principal: Principal, source: SourceType) -> SourceType | None:
    """The source as far as the credential may claim it: itself, or the best one below it; None for none."""
    if source in principal.source_types:
        return source
    below = [one for one in principal.source_types if DEFAULT_TRUST[one] <= DEFAULT_TRUST[source]]
    # Not what would say more than is known: nobody confirmed what was only stated.
    return max(below, key=lambda one: (DEFAULT_TRUST[one], -one), default=None)


def role_source(principal: Principal, role: TurnRole) -> SourceType:
    """How we know what somebody in this role says, as far as the credential may claim it."""
    return claimable(principal, ROLE_SOURCE[role]) or ROLE_SOURCE[role]


def role_of(source: SourceType) -> TurnRole:
    """Who at most spoke a turn of this source."""
    if source in (SourceType.USER_STATED, SourceType.USER_CONFIRMED):
        return TurnRole.USER
    return next(role for role, one in ROLE_SOURCE.items() if one is source)


@dataclass(frozen=True, slots=True)
class Writer:
    """The credential that ingested, as far as it matters for what is made of it later, and its call."""

    credential_id: UUID
    kind: str
    source_types: tuple[int, ...]
    max_trust: int
    agent: str | None
    client: str | None
    tenant_name: str
    trace_id: str
    span_id: str

    @classmethod
    def of(cls, context: CallContext) -> "Writer":
        """The caller."""
        principal = context.principal
        return cls(
            principal.credential_id,
            principal.kind,
            tuple(sorted(int(source) for source in principal.source_types)),
            int(principal.max_trust),
            principal.agent,
            context.client,
            context.tenant_name,
            context.trace_id,
            context.span_id,
        )

    def same_rights(self, other: "Writer") -> bool:
        """Whether what the two ingested may be looked at together."""
        return replace(self, trace_id="", span_id="", client=None) == replace(
            other, trace_id="", span_id="", client=None
        )

    def context(self, tenant_id: UUID, seconds: float) -> CallContext:
        """A call with exactly the rights that the caller had, and none but to write."""
        return CallContext(
            principal=Principal(
                credential_id=self.credential_id,
                kind=cast(Literal["api_key", "jwt"], self.kind),
                tenants={self.tenant_name: tenant_id},
                permissions=frozenset({Permission.WRITE}),
                source_types=frozenset(SourceType(number) for number in self.source_types),
                max_trust=TrustLevel(self.max_trust),
                agent=self.agent,
            ),
            tenant_id=tenant_id,
            tenant_name=self.tenant_name,
            method=METHOD,
            request_id=secrets.token_hex(16),
            trace_id=self.trace_id,
            span_id=self.span_id,
            deadline=time.monotonic() + seconds,
            client=self.client,
        )


@dataclass(frozen=True, slots=True)
class PendingTurn:
    """A turn that is to be looked at, and the memory that keeps it."""

    number: int
    role: TurnRole
    memory_id: UUID


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one candidate. memory_id: None when it was dropped."""

    outcome: WriteOutcome
    memory_id: UUID | None
    superseded: UUID | None
    embedding_state: EmbeddingState
    rule: str | None
    findings: tuple[Finding, ...]
    factors: tuple[Factor, ...]
    turn_numbers: tuple[int, ...]
    extracted_by: str

    @classmethod
    def of(cls, result: WriteResult, turn_numbers: Sequence[int], extracted_by: str) -> "Outcome":
        """From a write's result."""
        return cls(
            result.outcome,
            result.memory.memory_id if result.memory else None,
            result.superseded,
            result.embedding_state,
            result.rule,
            tuple(replace(one, spans=(), placeholder="") for one in result.findings),
            result.factors,
            tuple(turn_numbers),
            extracted_by,
        )


@dataclass(frozen=True, slots=True)
class IngestBody:
    """The record of an ingest. pending: in the order of the conversation. by: who did what is done.

    agent: that the conversation is narrowed to. looks: how often something was made of its turns, or they
    were given up; None in a record of a version that did not count.
    """

    writer: Writer
    extractor: ExtractorKind
    state: IngestState
    agent: str | None
    pending: tuple[PendingTurn, ...] = ()
    results: tuple[Outcome, ...] = ()
    by: ExtractorKind | None = None
    fallback: Fallback | None = None
    looks: int | None = 0

    def seal(self, key: ScopeKey, ingest_id: UUID) -> bytes:
        """The ciphertext to store."""
        return key.encrypt(json.dumps(_plain(self)).encode(), _KIND, ingest_id.bytes)


def open_body(key: ScopeKey, ingest_id: UUID, body_ct: bytes) -> IngestBody:
    """A stored body. Raises IntegrityViolation for one that the service did not write."""
    try:
        return _body(json.loads(key.decrypt(body_ct, _KIND, ingest_id.bytes)))
    except (CiphertextInvalid, KeyError, TypeError, ValueError):
        raise IntegrityViolation() from None


def _plain(body: IngestBody) -> dict[str, Any]:
    writer = body.writer
    return {
        "writer": [
            str(writer.credential_id),
            writer.kind,
            writer.source_types,
            writer.max_trust,
            writer.agent,
            writer.client,
            writer.tenant_name,
            writer.trace_id,
            writer.span_id,
        ],
        "extractor": body.extractor,
        "state": body.state,
        "agent": body.agent,
        "pending": [[one.number, one.role, str(one.memory_id)] for one in body.pending],
        "results": [
            [
                one.outcome,
                str(one.memory_id) if one.memory_id else None,
                str(one.superseded) if one.superseded else None,
                one.embedding_state,
                one.rule,
                [[each.gate, each.rule, each.verdict, each.count] for each in one.findings],
                [[each.name, each.value, each.weight, each.contribution] for each in one.factors],
                one.turn_numbers,
                one.extracted_by,
            ]
            for one in body.results
        ],
        "by": body.by,
        "fallback": body.fallback,
        "looks": body.looks,
    }


def _body(plain: dict[str, Any]) -> IngestBody:
    credential, kind, sources, trust, agent, client, tenant, trace, span = plain["writer"]
    return IngestBody(
        Writer(UUID(credential), kind, tuple(sources), trust, agent, client, tenant, trace, span),
        ExtractorKind(plain["extractor"]),
        IngestState(plain["state"]),
        plain["agent"],
        tuple(
            PendingTurn(number, TurnRole(role), UUID(memory_id))
            for number, role, memory_id in plain["pending"]
        ),
        tuple(_outcome(*one) for one in plain["results"]),
        ExtractorKind(plain["by"]) if plain["by"] else None,
        Fallback(plain["fallback"]) if plain["fallback"] else None,
        plain.get("looks"),
    )


def _outcome(
    outcome: int,
    memory_id: str | None,
    superseded: str | None,
    embedding_state: int,
    rule: str | None,
    findings: list[Any],
    factors: list[Any],
    turn_numbers: list[int],
    extracted_by: str,
) -> Outcome:
    return Outcome(
        WriteOutcome(outcome),
        UUID(memory_id) if memory_id else None,
        UUID(superseded) if superseded else None,
        EmbeddingState(embedding_state),
        rule,
        tuple(Finding(gate, name, Verdict(verdict), count) for gate, name, verdict, count in findings),
        tuple(Factor(*one) for one in factors),
        tuple(turn_numbers),
        extracted_by,
    )
