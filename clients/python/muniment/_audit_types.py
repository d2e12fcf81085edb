"""The audit trail as plain values. It holds ids, counts, times and digests, never content."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from muniment._enums import (
    ActorKind,
    AdministrativeAct,
    AuditAction,
    AuditOutcome,
    ConsentLevel,
    ErasureReason,
    ErasureTargetKind,
    ExtractionFallback,
    Extractor,
    Fusion,
    IngestState,
    MemoryKind,
    MemoryState,
    ReviewDecision,
    SourceType,
    TrustLevel,
    UseOutcome,
    WriteOutcome,
)
from muniment._types import (
    Degradation,
    ErasureCounts,
    GateFinding,
    LeftOut,
    LegScore,
    NearMiss,
    Scope,
    ScoreBasis,
    ScoreFactor,
)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acted."""

    kind: ActorKind
    principal: str
    agent: str
    client: str


@dataclass(frozen=True, slots=True)
class WrittenMemory:
    """One memory of a write."""

    memory_id: str
    revision: int
    outcome: WriteOutcome
    kind: MemoryKind
    source_type: SourceType
    trust: TrustLevel
    superseded_memory_id: str
    rule: str
    findings: tuple[GateFinding, ...]
    importance_factors: tuple[ScoreFactor, ...]


@dataclass(frozen=True, slots=True)
class MemoryWritten:
    """Details of a write."""

    items: tuple[WrittenMemory, ...]


@dataclass(frozen=True, slots=True)
class MemorySuperseded:
    """Details of a supersede."""

    memory_id: str
    revision: int
    successor: WrittenMemory | None


@dataclass(frozen=True, slots=True)
class MemoryErased:
    """Details of an erasure."""

    erasure_id: str
    target_kind: ErasureTargetKind
    reason: ErasureReason
    reason_code: str
    counts: ErasureCounts
    keys_destroyed: int
    memory_ids: tuple[str, ...]
    """At most the first 1000; `counts.memories` has the true number."""


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """One memory that a recall returned."""

    memory_id: str
    revision: int
    rank: int
    score: float
    packed: bool
    leg_scores: tuple[LegScore, ...]
    factors: tuple[ScoreFactor, ...]
    evidence: float
    """0 in receipts from before it was recorded."""


@dataclass(frozen=True, slots=True)
class MemoriesRecalled:
    """Details of a recall: what was offered, in which version and why."""

    recall_id: str
    memories: tuple[RecalledMemory, ...]
    left_out: tuple[LeftOut, ...]
    degraded: tuple[Degradation, ...]
    seal_broken_memory_ids: tuple[str, ...]
    no_relevant_memory: bool
    limit: int
    min_score: float
    token_budget: int
    packed_tokens: int
    tokenizer: str
    embedding_model: str
    near_misses: tuple[NearMiss, ...]
    fusion: Fusion
    as_of_time: datetime | None
    """The instant whose knowledge was asked for; None: now."""
    left_out_incomplete: bool
    query_digest: bytes
    score_basis: ScoreBasis | None
    """None in receipts from before it was recorded."""


@dataclass(frozen=True, slots=True)
class MemoriesUsed:
    """Details of a use report: what entered the prompt, by the caller's word."""

    recall_id: str
    memory_ids: tuple[str, ...]
    outcome: UseOutcome
    model: str
    prompt_ref: str


@dataclass(frozen=True, slots=True)
class MemoriesRead:
    """Details of a read."""

    memory_ids: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class AccessDenied:
    """Details of a refusal."""

    method: str
    permission: str


@dataclass(frozen=True, slots=True)
class IntegrityViolation:
    """Details of tampering that was found."""

    memory_ids: tuple[str, ...]
    check: str
    count: int


@dataclass(frozen=True, slots=True)
class RestoreDeclared:
    """Details of a restore that the operator declared."""

    anchored_sequence: int
    restored_sequence: int
    reference: str


@dataclass(frozen=True, slots=True)
class Administered:
    """Details of what an operator did at the command line, or the service at its first start."""

    act: AdministrativeAct
    credential_id: str
    """`Actor.principal` of what is done with the API key."""
    public_id: str
    permissions: tuple[str, ...]
    source_types: tuple[SourceType, ...]
    max_trust: TrustLevel
    subject_bound: bool
    """Whether the key may act for one subject only; `AuditEvent.scope_id` is that of its scope."""
    agent: str
    expire_time: datetime | None
    """When the key ends; None: never."""
    master_key_id: str
    setting: str
    """The setting that was changed."""
    value: str
    """Its new value, or the new view, as JSON."""
    policy_revision: int
    policy_digest: bytes


@dataclass(frozen=True, slots=True)
class ConversationIngested:
    """Details of an ingest, or of the extraction that follows it."""

    ingest_id: str
    state: IngestState
    items: tuple[WrittenMemory, ...]
    extractor: Extractor
    fallback: ExtractionFallback


@dataclass(frozen=True, slots=True)
class CorrectedMemory:
    """One memory that was put back, ended or taken back."""

    memory_id: str
    revision: int
    state: MemoryState


@dataclass(frozen=True, slots=True)
class MemoriesCorrected:
    """Details of a restore, a retraction or an undone write."""

    memories: tuple[CorrectedMemory, ...]
    write_request_id: str


@dataclass(frozen=True, slots=True)
class ReviewDecided:
    """Details of a decided review."""

    memory_id: str
    revision: int
    decision: ReviewDecision
    superseded_memory_id: str
    trust: TrustLevel


@dataclass(frozen=True, slots=True)
class ConsentChanged:
    """Details of a change of consent."""

    level: ConsentLevel
    necessary_kinds: tuple[MemoryKind, ...]
    session_forgotten: bool
    erasure_id: str


AuditDetails: TypeAlias = (
    MemoryWritten
    | MemorySuperseded
    | MemoryErased
    | MemoriesRecalled
    | MemoriesUsed
    | MemoriesRead
    | AccessDenied
    | IntegrityViolation
    | RestoreDeclared
    | Administered
    | ConversationIngested
    | MemoriesCorrected
    | ReviewDecided
    | ConsentChanged
)


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event of the trail."""

    event_id: str
    event_time: datetime | None
    action: AuditAction
    outcome: AuditOutcome
    reason: str
    """An ErrorReason, or a newer server's; empty when the outcome is OK."""
    actor: Actor
    scope: Scope | None
    """None when the event concerns no single scope, or the scope was erased."""
    scope_id: str
    trace_id: str
    span_id: str
    request_id: str
    sequence: int
    """Place in the tenant's chain; 0 until the event was chained."""
    digest: bytes
    prev_digest: bytes
    details: AuditDetails | None
    """What exactly happened; None for actions without details, and for details of a newer server."""


@dataclass(frozen=True, slots=True)
class UseReport:
    """A use report, as the trail holds it."""

    event_id: str
    report_time: datetime | None
    actor: Actor
    used: MemoriesUsed


@dataclass(frozen=True, slots=True)
class RecallReceipt:
    """The durable record of one recall."""

    recall_id: str
    recall_time: datetime | None
    actor: Actor
    scope: Scope | None
    trace_id: str
    span_id: str
    recalled: MemoriesRecalled
    uses: tuple[UseReport, ...]
    """Oldest first."""
    event_id: str
    sequence: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key to check signatures with."""

    signing_key_id: str
    algorithm: str
    public_key: bytes


@dataclass(frozen=True, slots=True)
class ExportHeader:
    """The first part of an export."""

    format_version: int
    tenant: str
    tenant_id: str
    first_sequence: int
    last_sequence: int
    first_prev_digest: bytes
    signing_keys: tuple[SigningKey, ...]


@dataclass(frozen=True, slots=True)
class ExportedEvent:
    """One event as it stands in the chain; AuditService.ExportAudit states how to check the digest."""

    sequence: int
    event_id: str
    canonical_bytes: bytes
    prev_digest: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class AuditCheckpoint:
    """A signed state of the chain; it comes after the event that it covers."""

    sequence: int
    digest: bytes
    create_time: datetime | None
    signing_key_id: str
    signature: bytes
    signed_bytes: bytes


@dataclass(frozen=True, slots=True)
class ExportTrailer:
    """The last part of an export."""

    event_count: int
    last_sequence: int
    last_digest: bytes
    unchained_count: int
    """Events recorded but not yet chained, and so not in this export."""


ExportPart: TypeAlias = ExportHeader | ExportedEvent | AuditCheckpoint | ExportTrailer
