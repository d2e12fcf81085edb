"""Failures of the request itself: who sends it, and what it says."""

from __future__ import annotations

from collections.abc import Iterable

from .base import FieldViolation, MunimentError


class CredentialsMissing(MunimentError):
    """No `authorization` metadata came with the call."""

    reason = "CREDENTIALS_MISSING"
    code = "UNAUTHENTICATED"
    message = "No credential was sent. Send metadata 'authorization: Bearer <api key or JWT>' exactly once."


class CredentialsInvalid(MunimentError):
    """The credential was refused. One answer for every cause, so that nothing can be probed."""

    reason = "CREDENTIALS_INVALID"
    code = "UNAUTHENTICATED"
    message = (
        "The credential is not valid. Check that it is complete, not expired and not revoked, "
        "and that it was issued for this service."
    )


class TenantMetadataInvalid(MunimentError):
    """`muniment-tenant` is missing, doubled or malformed.

    problem: `missing`, `duplicated` or `malformed`.
    """

    reason = "TENANT_METADATA_INVALID"
    code = "INVALID_ARGUMENT"
    message = (
        "The tenant is missing or malformed. Send metadata 'muniment-tenant' exactly once, as the tenant's "
        "lower-case name: a letter or digit, then at most 62 of a-z, 0-9, '_', '.', '-'."
    )
    metadata_keys = frozenset({"problem"})

    def __init__(self, problem: str) -> None:
        super().__init__(metadata={"problem": problem})


class PermissionDenied(MunimentError):
    """The credential does not allow this call, or not for this tenant, subject or agent.

    A tenant that does not exist answers exactly like one that the credential does not name.
    permission: the permission needed, or `tenant`, `subject` or `agent` for a binding.
    """

    reason = "PERMISSION_DENIED"
    code = "PERMISSION_DENIED"
    message = (
        "The credential does not allow this call. Use a credential that names the tenant, holds the "
        "permission of the method and is not bound to another subject or agent."
    )
    metadata_keys = frozenset({"permission"})

    def __init__(self, permission: str) -> None:
        super().__init__(metadata={"permission": permission})


class SourceNotAllowed(MunimentError):
    """The credential may not claim this source type; `item` is the index of the item from 0."""

    reason = "SOURCE_NOT_ALLOWED"
    code = "PERMISSION_DENIED"
    message = (
        "The credential may not claim this source type. Write with a source type that the credential is "
        "allowed to give, or use another credential."
    )
    metadata_keys = frozenset({"source_type", "item"})

    def __init__(self, source_type: str, item: int | None = None) -> None:
        super().__init__(metadata={"source_type": source_type, "item": None if item is None else str(item)})


class InvalidRequest(MunimentError):
    """Fields break rules of the contract; every violation names its field and rule."""

    reason = "INVALID_REQUEST"
    code = "INVALID_ARGUMENT"
    message = "The request breaks rules of the contract. Correct the fields named in the details."
    metadata_keys = frozenset({"violation_count"})

    def __init__(self, violations: Iterable[FieldViolation]) -> None:
        found = tuple(violations)
        super().__init__(violations=found, metadata={"violation_count": str(len(found))})

    @classmethod
    def of(cls, path: str, rule: str, description: str) -> InvalidRequest:
        """Short form for a single violation."""
        return cls((FieldViolation(path, rule, description),))


class RequestTooLarge(MunimentError):
    """The request as a whole is over a size limit, in bytes."""

    reason = "REQUEST_TOO_LARGE"
    code = "INVALID_ARGUMENT"
    message = "The request is too large. Send less at once; the details name the limit in bytes."
    metadata_keys = frozenset({"limit_bytes", "actual_bytes"})

    def __init__(self, limit_bytes: int, actual_bytes: int) -> None:
        super().__init__(metadata={"limit_bytes": str(limit_bytes), "actual_bytes": str(actual_bytes)})


class ContentRefused(MunimentError):
    """The tenant's policy refuses a content; `path` is the field, `item` its index from 0."""

    reason = "CONTENT_REFUSED"
    code = "INVALID_ARGUMENT"
    message = (
        "The tenant's policy refuses this content. Remove what the details name, or have the policy changed."
    )
    metadata_keys = frozenset({"gate", "rule", "item"})

    def __init__(self, path: str, gate: str, rule: str, item: int) -> None:
        super().__init__(
            violations=(FieldViolation(path, rule, "The tenant's policy refuses what was found here."),),
            metadata={"gate": gate, "rule": rule, "item": str(item)},
        )


class PageTokenInvalid(MunimentError):
    """The page token is malformed, foreign, or belongs to other arguments."""

    reason = "PAGE_TOKEN_INVALID"
    code = "INVALID_ARGUMENT"
    message = "The page token does not belong to this request. Start again without a page token."
    metadata_keys = frozenset({"field"})

    def __init__(self, field: str = "page_token") -> None:
        super().__init__(metadata={"field": field})


class ConsistencyTokenInvalid(MunimentError):
    """The text is no consistency token; `field` is its path in the request."""

    reason = "CONSISTENCY_TOKEN_INVALID"
    code = "INVALID_ARGUMENT"
    message = "The text is not a consistency token. Send a token exactly as an answer gave it."
    metadata_keys = frozenset({"field"})

    def __init__(self, field: str) -> None:
        super().__init__(metadata={"field": field})


class ConsistencyTokenForeign(MunimentError):
    """The token was made for another tenant or data store; `field` is its path in the request."""

    reason = "CONSISTENCY_TOKEN_FOREIGN"
    code = "INVALID_ARGUMENT"
    message = (
        "The consistency token was not issued for this tenant and service. Use a token from this "
        "tenant's answers."
    )
    metadata_keys = frozenset({"field"})

    def __init__(self, field: str) -> None:
        super().__init__(metadata={"field": field})


class ConsistencyTokenExpired(MunimentError):
    """The token is older than the service can still compare; `field` is its path in the request."""

    reason = "CONSISTENCY_TOKEN_EXPIRED"
    code = "OUT_OF_RANGE"
    message = "The consistency token is too old. Take one from a newer answer, or ask for strong consistency."
    metadata_keys = frozenset({"field"})

    def __init__(self, field: str) -> None:
        super().__init__(metadata={"field": field})


class EmbeddingModelMismatch(MunimentError):
    """An embedding in the request is not of the server's model or dimension.

    model: the model sent; pass it only if the server knows a model of that name.
    """

    reason = "EMBEDDING_MODEL_MISMATCH"
    code = "INVALID_ARGUMENT"
    message = (
        "The embedding was not made with the server's model. Make it with the expected model and dimension, "
        "or leave it out."
    )
    metadata_keys = frozenset({"model", "dimension", "expected_model", "expected_dimension"})

    def __init__(
        self, model: str | None, dimension: int, expected_model: str, expected_dimension: int
    ) -> None:
        super().__init__(
            metadata={
                "model": model,
                "dimension": str(dimension),
                "expected_model": expected_model,
                "expected_dimension": str(expected_dimension),
            }
        )


class MemoryNotInRecall(MunimentError):
    """A use report names a memory that the recall did not offer."""

    reason = "MEMORY_NOT_IN_RECALL"
    code = "INVALID_ARGUMENT"
    message = "The recall did not offer this memory. Report only ids from the recall's answer."
    metadata_keys = frozenset({"recall_id", "memory_id"})

    def __init__(self, recall_id: str, memory_id: str) -> None:
        super().__init__(metadata={"recall_id": recall_id, "memory_id": memory_id})
