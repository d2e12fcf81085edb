"""The errors and the contract's ErrorReason agree, and their statuses are well-formed."""

import re
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2

from muniment_server._gen.muniment.v1 import error_reason_pb2
from muniment_server.api.status import MAX_STATUS_BYTES, to_status
from muniment_server.domain import errors
from muniment_server.domain.errors import BY_REASON, FieldViolation, MunimentError, base

PROTO = Path(__file__).parents[2] / "proto/muniment/v1/error_reason.proto"
PREFIX = "ERROR_REASON_"
ID = "0190b0a0-0000-7000-8000-000000000001"

EXAMPLES: dict[str, MunimentError] = {
    each.reason: each
    for each in (
        errors.CredentialsMissing(),
        errors.CredentialsInvalid(),
        errors.TenantMetadataInvalid("missing"),
        errors.PermissionDenied("write"),
        errors.SourceNotAllowed("USER_STATED", 3),
        errors.InvalidRequest.of("items[0].content", "string.max_bytes", "at most 32768 bytes"),
        errors.RequestTooLarge(4194304, 4194305),
        errors.PageTokenInvalid(),
        errors.ConsistencyTokenInvalid("consistency.at_least_as_fresh"),
        errors.ConsistencyTokenForeign("consistency.at_least_as_fresh"),
        errors.ConsistencyTokenExpired("consistency.at_least_as_fresh"),
        errors.EmbeddingModelMismatch("a", 3, "b", 384),
        errors.MemoryNotInRecall(ID, ID),
        errors.MemoryNotFound(ID),
        errors.RecallNotFound(ID),
        errors.ErasureNotFound(ID),
        errors.RequestIdPayloadMismatch(ID),
        errors.RevisionConflict(ID, 3),
        errors.TransactionConflict(),
        errors.MemorySuperseded(ID, ID),
        errors.MemoryErased(ID),
        errors.MemoryNotActive(ID, "PENDING"),
        errors.SlotConflict(ID),
        errors.QuotaExceeded("memories", 1000, timedelta(seconds=60)),
        errors.Overloaded(),
        errors.DatabaseUnavailable(),
        errors.EmbedderUnavailable(),
        errors.KeyStoreUnavailable(),
        errors.ShuttingDown(),
        errors.DeadlineExceeded(),
        errors.IntegrityViolation(ID),
        errors.Unimplemented("rerank"),
        errors.Internal(),
        errors.ContentRefused("items[1].content", "secrets", "CARD_NUMBER", 1),
        errors.IngestNotFound(ID),
        errors.WriteNotFound(ID),
        errors.TurnConflict(3),
        errors.MemoryNotRestorable(ID, "ACTIVE"),
        errors.ReviewNotPending(ID, "ACTIVE"),
    )
}


def _documented() -> dict[str, str]:
    """The comment above every value of the enum."""
    text = PROTO.read_text()
    found = re.findall(rf"((?:  //[^\n]*\n)+)  {PREFIX}(\w+) = \d+;", text)
    return {name: " ".join(comment.replace("//", "").split()) for comment, name in found}


REASONS = [name.removeprefix(PREFIX) for name in error_reason_pb2.ErrorReason.keys()][1:]  # noqa: SIM118


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_of_the_contract_has_a_class_as_documented(reason: str) -> None:
    error = BY_REASON[reason]
    comment = _documented()[reason]
    assert comment.startswith(f"{error.code}. ")
    assert error.code in grpc.StatusCode.__members__
    _, _, keys = comment.partition("Metadata: ")
    for key in error.metadata_keys:
        assert f"`{key}`" in keys, f"metadata key {key} is not documented"
    documented = (
        set(re.findall(r"`([a-z][a-z_]*)`", keys.split("=")[0])) if "=" not in keys else error.metadata_keys
    )
    assert documented <= error.metadata_keys


def test_no_class_is_outside_the_contract() -> None:
    assert set(BY_REASON) == set(REASONS) == set(EXAMPLES)


@pytest.mark.parametrize("reason", REASONS)
def test_status_has_what_the_contract_says(reason: str) -> None:
    error = EXAMPLES[reason]
    comment = _documented()[reason]
    status = to_status(error, "0" * 31 + "1")
    assert status.code == grpc.StatusCode[error.code].value[0]
    assert status.message == error.message == str(error)
    kinds = [each.TypeName().rpartition(".")[2] for each in status.details]
    assert kinds[0] == "ErrorInfo"
    expected = set(re.findall(r"google\.rpc\.(\w+)", comment))
    assert set(kinds[1:]) == expected
    info = error_details_pb2.ErrorInfo()
    status.details[0].Unpack(info)
    assert (info.domain, info.reason, dict(info.metadata)) == ("muniment.dev", reason, dict(error.metadata))


@pytest.mark.parametrize("reason", REASONS)
def test_messages_say_what_to_do(reason: str) -> None:
    message = BY_REASON[reason].message
    assert message.endswith(".")
    assert 40 < len(message) < 250
    assert message.count(". ") >= 1 or ";" in message


def test_trace_id_is_told_for_internal_only() -> None:
    for error in EXAMPLES.values():
        text = to_status(error, "feedc0de" * 4).SerializeToString()
        assert (b"feedc0de" in text) == (error.reason == "INTERNAL")


@pytest.mark.parametrize("length", [10, 100, 500, 5000])
def test_status_stays_under_four_kibibytes(length: int) -> None:
    violations = [FieldViolation(f"items[{n}].{'x' * length}", "r" * length, "d" * length) for n in range(50)]
    error = errors.InvalidRequest(violations)
    assert len(error.violations) == 20
    assert error.metadata["violation_count"] == "50"
    status = to_status(error)
    assert status.ByteSize() <= MAX_STATUS_BYTES
    assert status.details[0].TypeName() == "google.rpc.ErrorInfo"
    if length < 500:
        assert len(status.details) == 2
    not_found = to_status(errors.MemoryNotFound("m" * length))
    assert not_found.ByteSize() <= MAX_STATUS_BYTES


def test_metadata_keys_are_fixed() -> None:
    class Sample(MunimentError):
        reason = "SAMPLE_FOR_A_TEST"
        code = "INTERNAL"
        message = "m"
        metadata_keys = frozenset({"known"})

    try:
        assert Sample(metadata={"known": None}).metadata == {}
        with pytest.raises(TypeError):
            Sample(metadata={"unknown": "x"})
        with pytest.raises(TypeError):
            type("Again", (MunimentError,), {"reason": "SAMPLE_FOR_A_TEST"})
        with pytest.raises(TypeError):
            MunimentError()
        with pytest.raises(TypeError):
            Sample(metadata={"known": "x"}).metadata["known"] = "y"  # type: ignore[index]
    finally:
        base._BY_REASON.pop("SAMPLE_FOR_A_TEST")
