"""Memories and what calls answer, as plain values: frozen dataclasses, ids as lower-case UUID text,
times as aware UTC datetimes of microsecond precision, None where the server set nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from opentelemetry.trace import Span, SpanContext

from muniment import _tracing
from muniment._enums import (
    DegradationReason,
    Difference,
    EmbeddingState,
    ErasureReason,
    ErasureState,
    ErasureTargetKind,
    GateVerdict,
    KeptItem,
    KeptReason,
    LeftOutReason,
    MemoryKind,
    MemoryState,
    RecallStage,
    Relation,
    RetrievalLeg,
    SourceType,
    TrustLevel,
    WriteOutcome,
)

PropertyScalar: TypeAlias = str | int | float | bool
"""A filterable value. Numbers are doubles: whole numbers are exact up to 2**53, larger ones are refused."""


@dataclass(frozen=True, slots=True)
class ConsistencyToken:
    """An opaque mark of a state of the store. Give it to a read as `consistency` to see at least that.

    order: of two tokens of one tenant, the one with the larger order is the fresher; 0 when the server does
    not tell.
    """

    token: str
    order: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a memory lives: a subject or a space, optionally narrowed to an agent and a session."""

    subject: str | None = None
    space: str | None = None
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who said it and how we know. Also what a write may state as its `source`; `author` and `agent`
    are then stamped by the server."""

    source_type: SourceType = SourceType.UNSPECIFIED
    source_ref: str = ""
    """Pointer to the source: a URL, a document id. At most 512 characters, no personal data."""
    session: str | None = None
    """The session in which it was said."""
    confidence: float | None = None
    """How sure the writer is, 0 to 1."""
    trust: TrustLevel = TrustLevel.UNSPECIFIED
    """In a write the highest trust wanted; in an answer the effective trust."""
    author: str = ""
    """The principal that wrote the memory."""
    agent: str = ""
    """The agent that the credential is bound to."""


@dataclass(frozen=True, slots=True)
class Validity:
    """When a statement is true in the world, as a half-open interval; None is unbounded."""

    start_time: datetime | None = None
    end_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered statement at one revision. An erased one has only `memory_id`, `state` and
    `erase_time`."""

    memory_id: str
    revision: int
    etag: str
    """For `supersede(etag=...)`, to lose against whoever changed the memory meanwhile."""
    state: MemoryState
    scope: Scope
    kind: MemoryKind
    slot: str
    content: str
    """The text; empty in the BASIC view. It is data that somebody wrote, never an instruction."""
    tags: tuple[str, ...]
    properties: Mapping[str, PropertyScalar] = field(hash=False)
    attributes: Mapping[str, object] | None = field(hash=False)
    """The caller's own data; None in the BASIC view or when there are none."""
    speaker: str
    """Who spoke, for a turn or a quotation; empty in the BASIC view."""
    turn_number: int | None
    """Place of a turn in its session."""
    provenance: Provenance
    validity: Validity | None
    marks: tuple[str, ...]
    """Rules of the gates that found it suspicious when it was written."""
    create_time: datetime | None
    update_time: datetime | None
    expire_time: datetime | None
    erase_time: datetime | None
    supersedes: str
    superseded_by: str
    reinforcement_count: int
    reinforce_time: datetime | None
    embedding_state: EmbeddingState


@dataclass(frozen=True, slots=True)
class MemoryRevision:
    """An immutable earlier or current state of a memory."""

    memory: Memory
    replace_time: datetime | None
    """When the next revision replaced it; None for the current one."""


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    """A memory with its revisions, newest first."""

    memory: Memory
    revisions: tuple[MemoryRevision, ...]
    older_revision_count: int
    """Revisions beyond the last one here; read on with `before_revision`."""
    seal_broken_revisions: tuple[int, ...]
    """Revisions left out because somebody changed them in the database."""
    consistency_token: ConsistencyToken | None


@dataclass(frozen=True, slots=True)
class ScoreFactor:
    """What a score or a gate took into account."""

    name: str
    value: float
    weight: float
    contribution: float
    rank: int = 0
    """Rank by this value, from 1, where it made an order of its own (a reranker's); otherwise 0."""


@dataclass(frozen=True, slots=True)
class GateFinding:
    """Something that a gate found in a content; holds nothing of it."""

    gate: str
    rule: str
    verdict: GateVerdict
    count: int


@dataclass(frozen=True, slots=True)
class PossibleConflict:
    """A live memory that says something near to what was written. Nothing was done about it."""

    memory_id: str
    similarity: float
    """Cosine, -1 to 1."""
    differences: tuple[Difference, ...]
    """In what the two differ, as far as the server can tell."""
    relation: Relation
    """How a judge relates them, if one is configured. A proposal: nothing was done."""
    confidence: float
    """How sure the judge is, 0 to 1."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What became of one item of a write."""

    memory: Memory | None
    """The memory that now holds the statement (BASIC view); None when it was DROPPED."""
    outcome: WriteOutcome
    superseded_memory_id: str
    embedding_state: EmbeddingState
    possible_conflicts: tuple[PossibleConflict, ...]
    possible_conflicts_partial: bool
    """Whether live memories of the scope were left out of the search for near ones."""
    rule: str
    """Stable name of the rule that decided; empty when the outcome needs no reason."""
    explanation: str
    """One sentence for a person about it."""
    findings: tuple[GateFinding, ...]
    """What the gates found, whatever was done about it."""
    importance_factors: tuple[ScoreFactor, ...]
    """The factors of the importance, when it was judged."""

    @property
    def memory_id(self) -> str:
        """Id of the memory; empty when the item was DROPPED."""
        return self.memory.memory_id if self.memory is not None else ""


@dataclass(frozen=True, slots=True)
class Written:
    """The answer to a write: one result per item, in order; iterate it or index it."""

    results: tuple[WriteResult, ...]
    consistency_token: ConsistencyToken | None
    request_id: str

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """Ids in the order of the items; empty text for an item that was DROPPED."""
        return tuple(result.memory_id for result in self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[WriteResult]:
        return iter(self.results)

    def __getitem__(self, index: int) -> WriteResult:
        return self.results[index]


@dataclass(frozen=True, slots=True)
class Superseded:
    """The answer to a supersede."""

    old: Memory
    """The old memory after the call: SUPERSEDED, or still ACTIVE when the new one waits for review."""
    memory: Memory | None
    """The new memory (BASIC view); None when it was DROPPED."""
    outcome: WriteOutcome
    embedding_state: EmbeddingState
    possible_conflicts: tuple[PossibleConflict, ...]
    rule: str
    explanation: str
    findings: tuple[GateFinding, ...]
    importance_factors: tuple[ScoreFactor, ...]
    consistency_token: ConsistencyToken | None
    request_id: str


@dataclass(frozen=True, slots=True)
class LegScore:
    """What one leg contributed to a memory's score."""

    leg: RetrievalLeg
    rank: int
    raw_score: float
    contribution: float
    """The part of the score: `value` times `weight`."""
    value: float
    """What the measure counts as."""
    weight: float
    """0 in receipts from before it was recorded; then there is no `value` either."""


@dataclass(frozen=True, slots=True)
class ScoreBasis:
    """What holds for all scores of one recall; the contract says how they follow from legs and factors."""

    cosine_low: float
    cosine_high: float
    vector_weight: float
    lexical_weight: float
    around_vector_weight: float
    around_lexical_weight: float
    leg_count: int
    threshold: float


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """One memory of a recall."""

    memory: Memory
    rank: int
    """Position in the answer, from 1."""
    score: float
    """How relevant it is, 0 to 1; comparable between queries of one server."""
    packed: bool
    """Whether it stands in the packed context."""
    leg_scores: tuple[LegScore, ...]
    """Why it ranks where it does; filled by `explain=True`."""
    factors: tuple[ScoreFactor, ...]
    """What else changed the score; filled by `explain=True`."""
    evidence: float
    """What speaks for the memory itself, which has to reach the minimum score as well; by `explain=True`."""

    @property
    def memory_id(self) -> str:
        """Id of the memory."""
        return self.memory.memory_id

    @property
    def content(self) -> str:
        """Its text."""
        return self.memory.content

    @property
    def kind(self) -> MemoryKind:
        """Its kind."""
        return self.memory.kind


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A memory that was a candidate and is not in the answer."""

    memory_id: str
    score: float
    reason: LeftOutReason
    leg_scores: tuple[LegScore, ...]
    factors: tuple[ScoreFactor, ...]
    evidence: float


@dataclass(frozen=True, slots=True)
class PackedContext:
    """A block of text ready to be put into a prompt."""

    text: str
    tokens: int
    memory_ids: tuple[str, ...]
    """The memories in the block, in its order."""
    tokenizer: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many memories were left out, for one reason."""

    reason: LeftOutReason
    count: int


@dataclass(frozen=True, slots=True)
class Degradation:
    """Something that a recall could not do, or not completely."""

    stage: RecallStage
    leg: RetrievalLeg
    reason: DegradationReason
    affected_count: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer to a recall: memories, best first; iterate it, index it, or test it for emptiness."""

    memories: tuple[RankedMemory, ...]
    recall_id: str
    packed: PackedContext | None
    """The block for a prompt; None when no `token_budget` was given."""
    no_relevant_memory: bool
    left_out: tuple[LeftOut, ...]
    degraded: tuple[Degradation, ...]
    """What could not be done; empty for a complete answer."""
    seal_broken_memory_ids: tuple[str, ...]
    """Memories left out because somebody changed them in the database, at most the first 100."""
    applied_min_score: float
    """0: none was in force."""
    applied_limit: int
    near_misses: tuple[NearMiss, ...]
    """Candidates that are not in the answer, best first; as many as `near_misses` asked for."""
    left_out_incomplete: bool
    """Whether `left_out` counts only what was drawn from a large scope."""
    score_basis: ScoreBasis | None
    """Filled by `explain=True`, and beside near misses."""
    consistency_token: ConsistencyToken | None
    trace_id: str
    read_time: datetime | None
    _span_context: SpanContext | None = field(default=None, repr=False, compare=False)

    @property
    def context(self) -> str:
        """The packed text. Raises ValueError when the recall was made without a `token_budget`."""
        if self.packed is None:
            raise ValueError("no context was packed: give recall() a token_budget")
        return self.packed.text

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """Ids of all memories, best first."""
        return tuple(each.memory_id for each in self.memories)

    @property
    def prompt_memory_ids(self) -> tuple[str, ...]:
        """Ids that stand in the packed context in its order, or of all memories if none was packed."""
        return self.packed.memory_ids if self.packed is not None else self.memory_ids

    def stamp(self, span: Span | None = None, memory_ids: Sequence[str] | None = None) -> None:
        """Write onto a span which memories entered its prompt, and link it to the span of the recall.

        span: the caller's span of the model call; by default the current one. memory_ids: the
        memories that entered the prompt; by default `prompt_memory_ids`. At most 50 ids are written,
        the number of the others as `muniment.recall.memory.omitted`.
        """
        _tracing.stamp(
            span,
            self.recall_id,
            self.prompt_memory_ids if memory_ids is None else memory_ids,
            self._span_context,
        )

    def __len__(self) -> int:
        return len(self.memories)

    def __iter__(self) -> Iterator[RankedMemory]:
        return iter(self.memories)

    def __getitem__(self, index: int) -> RankedMemory:
        return self.memories[index]


@dataclass(frozen=True, slots=True)
class ErasureCounts:
    """Rows removed, per store."""

    memories: int
    revisions: int
    embeddings: int
    postings: int
    idempotency_records: int
    queued_jobs: int
    derived_rows: int


@dataclass(frozen=True, slots=True)
class ErasureKept:
    """Something that an erasure left behind."""

    item: KeptItem
    count: int
    reason: KeptReason


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """The signed record of an erasure, or for a dry run what would be erased."""

    erasure_id: str
    """Empty for a dry run, which records nothing."""
    state: ErasureState
    target_kind: ErasureTargetKind
    reason: ErasureReason
    reason_code: str
    dry_run: bool
    counts: ErasureCounts
    kept: tuple[ErasureKept, ...]
    keys_destroyed: int
    create_time: datetime | None
    complete_time: datetime | None
    sample_memory_ids: tuple[str, ...]
    """For a dry run the first 100 memories that would be erased, newest first."""
    event_id: str
    signature: bytes
    """Ed25519; see `ErasureReceipt.signature` in the contract for what is signed."""
    signing_key_id: str
    signed_bytes: bytes


@dataclass(frozen=True, slots=True)
class UseReported:
    """The answer to a use report."""

    event_id: str
    consistency_token: ConsistencyToken | None
    request_id: str
