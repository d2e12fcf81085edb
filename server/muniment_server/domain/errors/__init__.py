"""Every failure a caller can see: one class per reason, with a fixed text and typed fields.

The class is the contract: `reason` and `code` never change once released, `message` says what the
caller can do about it, and none of them is ever built from content, from a caller's string or from
the text of a driver's exception. What varies stands in `metadata` (ids, limits, counts, names of
enum values), in `violations`, or in the typed details.

This package knows neither protobuf nor gRPC: `code` is the *name* of a gRPC status code.
`api/status.py` turns an error into `google.rpc.Status`.
"""

from .base import BY_REASON as BY_REASON
from .base import MAX_VIOLATIONS as MAX_VIOLATIONS
from .base import FieldViolation as FieldViolation
from .base import MunimentError as MunimentError
from .base import Precondition as Precondition
from .base import Quota as Quota
from .base import Resource as Resource
from .request import ConsistencyTokenExpired as ConsistencyTokenExpired
from .request import ConsistencyTokenForeign as ConsistencyTokenForeign
from .request import ConsistencyTokenInvalid as ConsistencyTokenInvalid
from .request import ContentRefused as ContentRefused
from .request import CredentialsInvalid as CredentialsInvalid
from .request import CredentialsMissing as CredentialsMissing
from .request import EmbeddingModelMismatch as EmbeddingModelMismatch
from .request import InvalidRequest as InvalidRequest
from .request import MemoryNotInRecall as MemoryNotInRecall
from .request import PageTokenInvalid as PageTokenInvalid
from .request import PermissionDenied as PermissionDenied
from .request import RequestTooLarge as RequestTooLarge
from .request import SourceNotAllowed as SourceNotAllowed
from .request import TenantMetadataInvalid as TenantMetadataInvalid
from .service import DatabaseUnavailable as DatabaseUnavailable
from .service import DeadlineExceeded as DeadlineExceeded
from .service import EmbedderUnavailable as EmbedderUnavailable
from .service import IntegrityViolation as IntegrityViolation
from .service import Internal as Internal
from .service import KeyStoreUnavailable as KeyStoreUnavailable
from .service import Overloaded as Overloaded
from .service import QuotaExceeded as QuotaExceeded
from .service import ShuttingDown as ShuttingDown
from .service import Unimplemented as Unimplemented
from .stored import ErasureNotFound as ErasureNotFound
from .stored import IngestNotFound as IngestNotFound
from .stored import MemoryErased as MemoryErased
from .stored import MemoryNotActive as MemoryNotActive
from .stored import MemoryNotFound as MemoryNotFound
from .stored import MemoryNotRestorable as MemoryNotRestorable
from .stored import MemorySuperseded as MemorySuperseded
from .stored import RecallNotFound as RecallNotFound
from .stored import RequestIdPayloadMismatch as RequestIdPayloadMismatch
from .stored import ReviewNotPending as ReviewNotPending
from .stored import RevisionConflict as RevisionConflict
from .stored import SlotConflict as SlotConflict
from .stored import TransactionConflict as TransactionConflict
from .stored import TurnConflict as TurnConflict
from .stored import WriteNotFound as WriteNotFound
