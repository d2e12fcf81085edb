"""The enums of the contract, open towards newer servers.

A number that this client does not know becomes a member named `UNKNOWN_<number>`, which compares,
prints, pickles and can be sent back like any other. Where a method takes an enum it takes its name as
well, in any case: `kind="fact"`.
"""

from enum import IntEnum, StrEnum
from typing import Self


class OpenEnum(IntEnum):
    """Base of the enums. The numbers are those of the contract."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if isinstance(value, str):
            return cls.__members__.get(value.upper())
        if not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_ = f"UNKNOWN_{value}"
        unknown._value_ = value
        return unknown

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    @property
    def known(self) -> bool:
        """Whether this client knows the value."""
        return self.name in type(self).__members__


class MemoryKind(OpenEnum):
    """What sort of statement a memory is."""

    UNSPECIFIED = 0
    PREFERENCE = 1
    FACT = 2
    EVENT = 3
    DECISION = 4
    RULE = 5
    SUMMARY = 6
    TURN = 7


class MemoryState(OpenEnum):
    """Where a memory stands in its life."""

    UNSPECIFIED = 0
    PENDING = 1
    ACTIVE = 2
    SUPERSEDED = 3
    ARCHIVED = 4
    QUARANTINED = 5
    ERASED = 6


class SourceType(OpenEnum):
    """How the writer knows what it wrote."""

    UNSPECIFIED = 0
    USER_STATED = 1
    USER_CONFIRMED = 2
    AGENT_INFERRED = 3
    TOOL = 4
    THIRD_PARTY = 5


class TrustLevel(OpenEnum):
    """How far a memory may be believed; a larger value is more trust."""

    UNSPECIFIED = 0
    UNTRUSTED = 1
    LOW = 2
    MEDIUM = 3
    HIGH = 4
    CONFIRMED = 5


class MemoryView(OpenEnum):
    """How much of a memory an answer carries: BASIC leaves out `content` and `attributes`."""

    UNSPECIFIED = 0
    BASIC = 1
    FULL = 2


class EmbeddingState(OpenEnum):
    """Whether a memory can be found by meaning."""

    UNSPECIFIED = 0
    READY = 1
    PENDING = 2
    NOT_COVERED = 3
    PARTIAL = 4


class WriteOutcome(OpenEnum):
    """What became of one item of a write."""

    UNSPECIFIED = 0
    CREATED = 1
    REINFORCED = 2
    SUPERSEDED_PREVIOUS = 3
    PENDING_REVIEW = 4
    QUARANTINED = 5
    REDACTED = 6
    DROPPED = 7


class RetrievalLeg(OpenEnum):
    """One way of finding candidates."""

    UNSPECIFIED = 0
    VECTOR = 1
    LEXICAL = 2
    SLOT = 3
    ENTITY = 4
    TIME = 5
    NEIGHBOUR = 6
    SESSION = 7


class RecallStage(OpenEnum):
    """A step of a recall that can be dropped without failing the call."""

    UNSPECIFIED = 0
    QUERY_EMBEDDING = 1
    LEG = 2
    CONSISTENCY = 3
    RERANK = 4
    PACKING = 5


class DegradationReason(OpenEnum):
    """Why a stage was dropped or saw less than everything."""

    UNSPECIFIED = 0
    DEADLINE = 1
    EMBEDDER_UNAVAILABLE = 2
    QUERY_NOT_COVERED = 3
    EMBEDDINGS_PENDING = 4
    FAILED = 5
    QUERY_TRUNCATED = 6


class LeftOutReason(OpenEnum):
    """Why memories do not stand in an answer or in its packed context."""

    UNSPECIFIED = 0
    BELOW_MIN_SCORE = 1
    LIMIT = 2
    TOKEN_BUDGET = 3
    RESPONSE_SIZE = 4
    NEAR_DUPLICATE = 5
    SOURCE_SHARE = 6
    SEAL_BROKEN = 7
    CHANGED = 8
    STATE = 9
    EXPIRED = 10
    FILTERED = 11
    TAIL = 12
    CONSENT = 13
    NO_MATCH = 14


class ErasureState(OpenEnum):
    """How far an erasure has come."""

    UNSPECIFIED = 0
    PENDING = 1
    COMPLETE = 2
    PARTIAL = 3


class ErasureTargetKind(OpenEnum):
    """What kind of target an erasure had."""

    UNSPECIFIED = 0
    MEMORIES = 1
    SCOPE = 2
    SESSION = 3
    FILTER = 4


class ErasureReason(OpenEnum):
    """Why something is erased."""

    UNSPECIFIED = 0
    SUBJECT_REQUEST = 1
    CONSENT_WITHDRAWN = 2
    RETENTION = 3
    INCORRECT = 4
    SECURITY = 5
    OTHER = 6


class KeptItem(OpenEnum):
    """Something that an erasure leaves behind on purpose or for now."""

    UNSPECIFIED = 0
    AUDIT_EVENTS = 1
    TOMBSTONES = 2
    MEMORIES = 3
    KEYS = 4
    BACKUPS = 5


class KeptReason(OpenEnum):
    """Why it was kept."""

    UNSPECIFIED = 0
    PROOF = 1
    STORE_UNAVAILABLE = 2
    KEY_IN_USE = 3
    OUT_OF_REACH = 4


class AuditAction(OpenEnum):
    """What was done or attempted."""

    UNSPECIFIED = 0
    WRITE = 1
    SUPERSEDE = 2
    ERASE = 3
    RECALL = 4
    REPORT_USE = 5
    GET_MEMORY = 6
    LIST_MEMORIES = 7
    GET_ERASURE = 8
    READ_AUDIT = 9
    INGEST = 10
    RESTORE_MEMORY = 11
    RETRACT = 12
    UNDO_WRITE = 13
    DECIDE_REVIEW = 14
    LIST_REVIEWS = 15
    SET_CONSENT = 16
    DESCRIBE_SUBJECT = 17
    EXPORT_MEMORIES = 18
    IMPORT_MEMORIES = 19
    MAINTENANCE = 20
    INTEGRITY_CHECK = 21
    RESTORE = 22
    ADMINISTER = 23


class AdministrativeAct(OpenEnum):
    """What an operator did."""

    UNSPECIFIED = 0
    TENANT_CREATED = 1
    API_KEY_CREATED = 2
    API_KEY_REVOKED = 3
    MASTER_KEY_REWRAPPED = 4
    MASTER_KEY_RETIRED = 5
    SETTING_CHANGED = 6
    VIEW_CHANGED = 7
    EMBEDDING_CHANGE_STARTED = 8
    EMBEDDING_CHANGE_RELEASED = 9
    EMBEDDING_CHANGE_ABORTED = 10
    EMBEDDING_SWITCHED = 11


class AuditOutcome(OpenEnum):
    """How it ended."""

    UNSPECIFIED = 0
    OK = 1
    DENIED = 2
    FAILED = 3


class ActorKind(OpenEnum):
    """What kind of principal acted."""

    UNSPECIFIED = 0
    API_KEY = 1
    JWT = 2
    SERVICE = 3
    OPERATOR = 4


class UseOutcome(OpenEnum):
    """The caller's judgement of what the memories did for a prompt."""

    UNSPECIFIED = 0
    HELPFUL = 1
    NEUTRAL = 2
    HARMFUL = 3


class Fusion(OpenEnum):
    """How the legs' findings become one order."""

    UNSPECIFIED = 0
    SCORE = 1
    RRF = 2


class GateVerdict(OpenEnum):
    """What a gate did about something that it found."""

    UNSPECIFIED = 0
    ALLOWED = 1
    MARKED = 2
    REDACTED = 3
    REVIEW = 4
    QUARANTINED = 5
    DROPPED = 6


class Relation(OpenEnum):
    """How two statements relate, by the word of a judge."""

    UNSPECIFIED = 0
    REINFORCES = 1
    CONTRADICTS = 2
    REFINES = 3
    UNRELATED = 4


class Difference(OpenEnum):
    """In what two near statements differ."""

    UNSPECIFIED = 0
    NUMBER = 1
    NAME = 2
    DATE = 3
    UNIT = 4
    NEGATION = 5


class UndoOutcome(OpenEnum):
    """What undoing a write did to one memory."""

    UNSPECIFIED = 0
    ARCHIVED = 1
    RESTORED = 2
    LEFT = 3


class TurnRole(OpenEnum):
    """Who speaks in a turn."""

    UNSPECIFIED = 0
    USER = 1
    AGENT = 2
    TOOL = 3
    OTHER = 4


class ExtractionMode(OpenEnum):
    """When candidate memories are made of turns."""

    UNSPECIFIED = 0
    SYNC = 1
    QUEUED = 2
    NONE = 3


class Extractor(OpenEnum):
    """Who makes candidate memories of turns."""

    UNSPECIFIED = 0
    RULES = 1
    LLM = 2
    HYBRID = 3


class IngestState(OpenEnum):
    """How far an ingest has come."""

    UNSPECIFIED = 0
    QUEUED = 1
    RUNNING = 2
    DONE = 3
    FAILED = 4
    STORED = 5
    REFUSED = 6


class ExtractionFallback(OpenEnum):
    """Why another extractor than the one asked for did the work."""

    UNSPECIFIED = 0
    LLM_UNAVAILABLE = 1
    LLM_TIMEOUT = 2
    LLM_INVALID_ANSWER = 3


class ReviewDecision(OpenEnum):
    """What a reviewer decides."""

    UNSPECIFIED = 0
    APPROVE = 1
    EDIT = 2
    REJECT = 3


class ConsentLevel(OpenEnum):
    """How much may be remembered about a subject."""

    UNSPECIFIED = 0
    ALL = 1
    NECESSARY = 2
    NONE = 3


class ErrorReason(StrEnum):
    """The reasons of errors; `MunimentError.reason` equals one of them, or is a newer one."""

    CREDENTIALS_MISSING = "CREDENTIALS_MISSING"
    CREDENTIALS_INVALID = "CREDENTIALS_INVALID"
    TENANT_METADATA_INVALID = "TENANT_METADATA_INVALID"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    SOURCE_NOT_ALLOWED = "SOURCE_NOT_ALLOWED"
    INVALID_REQUEST = "INVALID_REQUEST"
    REQUEST_TOO_LARGE = "REQUEST_TOO_LARGE"
    PAGE_TOKEN_INVALID = "PAGE_TOKEN_INVALID"  # noqa: S105
    CONSISTENCY_TOKEN_INVALID = "CONSISTENCY_TOKEN_INVALID"  # noqa: S105
    CONSISTENCY_TOKEN_FOREIGN = "CONSISTENCY_TOKEN_FOREIGN"  # noqa: S105
    CONSISTENCY_TOKEN_EXPIRED = "CONSISTENCY_TOKEN_EXPIRED"  # noqa: S105
    EMBEDDING_MODEL_MISMATCH = "EMBEDDING_MODEL_MISMATCH"
    MEMORY_NOT_IN_RECALL = "MEMORY_NOT_IN_RECALL"
    CONTENT_REFUSED = "CONTENT_REFUSED"
    MEMORY_NOT_FOUND = "MEMORY_NOT_FOUND"
    RECALL_NOT_FOUND = "RECALL_NOT_FOUND"
    ERASURE_NOT_FOUND = "ERASURE_NOT_FOUND"
    INGEST_NOT_FOUND = "INGEST_NOT_FOUND"
    WRITE_NOT_FOUND = "WRITE_NOT_FOUND"
    REQUEST_ID_PAYLOAD_MISMATCH = "REQUEST_ID_PAYLOAD_MISMATCH"
    REVISION_CONFLICT = "REVISION_CONFLICT"
    MEMORY_SUPERSEDED = "MEMORY_SUPERSEDED"
    MEMORY_ERASED = "MEMORY_ERASED"
    MEMORY_NOT_ACTIVE = "MEMORY_NOT_ACTIVE"
    SLOT_CONFLICT = "SLOT_CONFLICT"
    TRANSACTION_CONFLICT = "TRANSACTION_CONFLICT"
    TURN_CONFLICT = "TURN_CONFLICT"
    MEMORY_NOT_RESTORABLE = "MEMORY_NOT_RESTORABLE"
    REVIEW_NOT_PENDING = "REVIEW_NOT_PENDING"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    OVERLOADED = "OVERLOADED"
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    EMBEDDER_UNAVAILABLE = "EMBEDDER_UNAVAILABLE"
    KEY_STORE_UNAVAILABLE = "KEY_STORE_UNAVAILABLE"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    INTEGRITY_VIOLATION = "INTEGRITY_VIOLATION"
    INTERNAL = "INTERNAL"
    UNIMPLEMENTED = "UNIMPLEMENTED"
