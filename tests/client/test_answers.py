"""What the answers become: plain values, and tolerant of a newer server."""

import copy
import dataclasses
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

import muniment
from client.peer import Peer
from muniment import _decode, _decode_audit
from muniment.v1 import (
    audit_pb2,
    correction_pb2,
    erasure_pb2,
    error_reason_pb2,
    ingest_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    review_pb2,
    subject_pb2,
    write_pb2,
)

MEMORY = {
    "memory_id": "m1",
    "revision": 3,
    "etag": "e3",
    "state": "MEMORY_STATE_SUPERSEDED",
    "scope": {"subject": "u", "session": "s"},
    "kind": "MEMORY_KIND_FACT",
    "slot": "home",
    "content": "Lives in Lyon",
    "tags": ["a", "b"],
    "properties": {"n": {"number_value": 2}, "t": {"string_value": "2"}, "f": {"bool_value": False}},
    "attributes": {"n": 5, "half": 0.5, "list": [None, {"x": True}]},
    "provenance": {"source_type": "SOURCE_TYPE_TOOL", "trust": "TRUST_LEVEL_LOW", "confidence": 0},
    "validity": {"end_time": "2025-07-25T02:00:00.123456789Z"},
    "create_time": "1969-12-31T23:59:59.999999Z",
    "superseded_by": "m2",
}


def message(cls: type[Message], values: dict[str, Any]) -> Any:
    return ParseDict(values, cls())


def test_memory() -> None:
    memory = _decode.memory(message(memory_pb2.Memory, MEMORY))
    assert memory.memory_id == "m1"
    assert memory.state is muniment.MemoryState.SUPERSEDED
    assert memory.scope == muniment.Scope(subject="u", session="s")
    assert memory.tags == ("a", "b")
    assert memory.properties == {"n": 2, "t": "2", "f": False}
    assert memory.attributes == {"n": 5, "half": 0.5, "list": [None, {"x": True}]}
    assert type(memory.properties["n"]) is int
    assert memory.provenance.confidence == 0.0
    assert memory.provenance.trust < muniment.TrustLevel.HIGH
    assert memory.validity == muniment.Validity(None, datetime(2025, 7, 25, 2, 0, 0, 123456, tzinfo=UTC))
    assert memory.create_time == datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert memory.expire_time is None
    assert memory.superseded_by == "m2"


def test_values_are_frozen_and_can_be_copied() -> None:
    memory = _decode.memory(message(memory_pb2.Memory, MEMORY))
    with pytest.raises(dataclasses.FrozenInstanceError):
        memory.content = "x"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(memory)) == memory
    assert copy.deepcopy(memory) == memory
    assert len({memory, copy.copy(memory)}) == 1
    assert dataclasses.asdict(memory)["properties"] == {"n": 2, "t": "2", "f": False}


def test_tombstone() -> None:
    memory = _decode.memory(
        message(
            memory_pb2.Memory,
            {"memory_id": "m", "state": "MEMORY_STATE_ERASED", "erase_time": "9999-12-31T23:59:59.999999Z"},
        )
    )
    assert memory.state is muniment.MemoryState.ERASED
    assert memory.erase_time == datetime.max.replace(tzinfo=UTC)
    assert memory.scope == muniment.Scope()
    assert (memory.content, memory.attributes, memory.validity) == ("", None, None)


def test_recalled() -> None:
    recalled = _decode.recalled(
        message(
            memory_service_pb2.RecallResponse,
            {
                "recall_id": "r",
                "memories": [
                    {
                        "memory": {"memory_id": "m1", "content": "one"},
                        "rank": 1,
                        "score": 0.75,
                        "packed": True,
                    },
                    {"memory": {"memory_id": "m2", "content": "two"}, "rank": 2, "score": 0.5},
                ],
                "packed_context": {"text": "block", "tokens": 3, "memory_ids": ["m1"], "tokenizer": "t"},
                "left_out": [{"reason": "LEFT_OUT_REASON_LIMIT", "count": "7"}],
                "degraded": [{"stage": "RECALL_STAGE_LEG", "leg": "RETRIEVAL_LEG_VECTOR"}],
                "consistency_token": {"token": "t1"},
            },
        ),
        None,
    )
    assert len(recalled) == 2
    assert [each.content for each in recalled] == ["one", "two"]
    assert recalled[1].memory_id == "m2"
    assert recalled.context == "block"
    assert recalled.memory_ids == ("m1", "m2")
    assert recalled.prompt_memory_ids == ("m1",)
    assert recalled.left_out == (muniment.LeftOut(muniment.LeftOutReason.LIMIT, 7),)
    assert recalled.degraded[0].leg is muniment.RetrievalLeg.VECTOR
    assert recalled.consistency_token == muniment.ConsistencyToken("t1")


def test_a_recall_without_budget_has_no_context() -> None:
    recalled = _decode.recalled(memory_service_pb2.RecallResponse(no_relevant_memory=True), None)
    assert not recalled
    with pytest.raises(ValueError, match="token_budget"):
        _ = recalled.context
    empty = _decode.recalled(message(memory_service_pb2.RecallResponse, {"packed_context": {}}), None)
    assert empty.context == ""


async def test_pages(client: Any, peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    def page(request: Any) -> memory_service_pb2.ListMemoriesResponse:
        number = int(request.page_token or 0)
        return memory_service_pb2.ListMemoriesResponse(
            # A page may be empty without being the last one.
            memories=[] if number == 1 else [memory_pb2.Memory(memory_id=f"m{number}")],
            next_page_token=str(number + 1) if number < 3 else "",
            seal_broken_memory_ids=["bad"] if number == 2 else [],
        )

    peer.answer("ListMemories", page)
    pages = client.list_memories(subject="u", page_size=1)
    for _ in range(2):
        assert [memory.memory_id async for memory in pages] == ["m0", "m2", "m3"]
        assert pages.seal_broken_memory_ids == ("bad",)
    assert "bad" in caplog.text
    tokens = [each.request.page_token for each in peer.calls("ListMemories")]
    assert tokens == ["", "1", "2", "3"] * 2
    assert {each.request.page_size for each in peer.received} == {1}


async def test_export(client: Any, peer: Peer) -> None:
    def part(**values: Any) -> Any:
        return message(audit_pb2.ExportAuditResponse, values)

    whole = [
        part(header={"format_version": 1, "tenant": "dev"}),
        part(events={"events": [{"sequence": "1"}, {"sequence": "2"}]}),
        part(checkpoint={"sequence": "2"}),
        part(trailer={"event_count": "2", "last_sequence": "2"}),
    ]
    peer.answer("ExportAudit", whole)
    parts = [each async for each in client.export_audit(from_sequence=1)]
    assert [type(each) for each in parts] == [
        muniment.ExportHeader,
        muniment.ExportedEvent,
        muniment.ExportedEvent,
        muniment.AuditCheckpoint,
        muniment.ExportTrailer,
    ]
    for cut in (whole[:-1], [*whole[:2], part(trailer={"event_count": "3"})]):
        peer.answer("ExportAudit", cut)
        with pytest.raises(muniment.Unavailable):
            _ = [each async for each in client.export_audit()]


# --- a newer server -------------------------------------------------------------------------------


def with_unknown_values(cls: Any, depth: int = 0) -> Any:
    """A message with an unknown value in every enum, and every message field present."""
    made = cls()
    for field in made.DESCRIPTOR.fields:
        if field.type == FieldDescriptor.TYPE_ENUM:
            if field.is_repeated:
                getattr(made, field.name).append(99)
            else:
                setattr(made, field.name, 99)
        elif field.type == FieldDescriptor.TYPE_MESSAGE and depth < 5:
            if field.message_type.file.package != "muniment.v1" or field.message_type.GetOptions().map_entry:
                continue
            inner = with_unknown_values(field.message_type._concrete_class, depth + 1)
            if field.is_repeated:
                getattr(made, field.name).append(inner)
            else:
                getattr(made, field.name).CopyFrom(inner)
    # Field 1999, a string.
    made.MergeFromString(b"\xfa\x7c\x03new")
    return made


DECODERS: list[tuple[Any, Any]] = [
    (memory_service_pb2.WriteResponse, _decode.written),
    (memory_service_pb2.RecallResponse, lambda value: _decode.recalled(value, None)),
    (memory_service_pb2.SupersedeResponse, _decode.superseded),
    (memory_service_pb2.GetMemoryResponse, _decode.history),
    (memory_service_pb2.ReportUseResponse, _decode.use_reported),
    (erasure_pb2.ErasureReceipt, _decode.erasure_receipt),
    (audit_pb2.AuditEvent, _decode_audit.audit_event),
    (audit_pb2.RecallReceipt, _decode_audit.recall_receipt),
    (audit_pb2.ExportAuditResponse, lambda value: tuple(_decode_audit.export_parts(value))),
]


@pytest.mark.parametrize(("cls", "decode"), DECODERS, ids=lambda value: getattr(value, "__name__", None))
def test_unknown_values_never_raise(cls: Any, decode: Any) -> None:
    assert decode(with_unknown_values(cls)) is not None
    assert decode(cls()) is not None


def test_unknown_enum_values_stay_what_they_are() -> None:
    memory = _decode.memory(with_unknown_values(memory_pb2.Memory))
    assert memory.kind == 99
    assert not memory.kind.known
    assert str(memory.kind) == memory.kind.name == "UNKNOWN_99"
    assert pickle.loads(pickle.dumps(memory.kind)) == memory.kind
    assert _decode_audit.audit_event(audit_pb2.AuditEvent(reason=99)).reason == "UNKNOWN_99"  # type: ignore[arg-type]


def test_unknown_enum_values_can_be_sent_back() -> None:
    sent = muniment.Filter(kinds=[muniment.MemoryKind(99)]).message()
    assert list(sent.kinds) == [99]


def test_property_of_an_unknown_type_is_left_out() -> None:
    made = memory_pb2.Memory()
    made.properties["new"].SetInParent()
    made.properties["old"].string_value = "x"
    assert _decode.memory(made).properties == {"old": "x"}


# --- the contract ---------------------------------------------------------------------------------

MODULES = (
    audit_pb2, correction_pb2, erasure_pb2, ingest_pb2, memory_pb2, recall_pb2, review_pb2, subject_pb2,
    write_pb2,
)  # fmt: skip


@pytest.mark.parametrize(
    "enum",
    [
        value
        for name in dir(muniment)
        if isinstance(value := getattr(muniment, name), type) and issubclass(value, int)
    ],
)
def test_enums_are_those_of_the_contract(enum: Any) -> None:
    modules = MODULES
    [wire] = {getattr(module, enum.__name__) for module in modules if hasattr(module, enum.__name__)}
    prefix = wire.keys()[0].removesuffix("UNSPECIFIED")
    assert {member.name: member.value for member in enum} == {
        name.removeprefix(prefix): number for name, number in wire.items()
    }


def test_error_reasons_are_those_of_the_contract() -> None:
    names = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()}  # noqa: SIM118
    assert {str(reason) for reason in muniment.ErrorReason} == names - {"UNSPECIFIED"}


RENAMED = {
    muniment.Scope: {"owner": None},
    muniment.MemoryHistory: {},
    muniment.Recalled: {"packed_context": "packed"},
    muniment.Superseded: {"superseded": "old"},
    muniment.ErasureReceipt: {"validate_only": "dry_run"},
    muniment.AuditEvent: dict.fromkeys(
        (field.name for field in audit_pb2.AuditEvent.DESCRIPTOR.oneofs[0].fields), "details"
    ),
}

MESSAGES: list[tuple[type, Any]] = [
    (muniment.Written, memory_service_pb2.WriteResponse),
    (muniment.Recalled, memory_service_pb2.RecallResponse),
    (muniment.Superseded, memory_service_pb2.SupersedeResponse),
    (muniment.MemoryHistory, memory_service_pb2.GetMemoryResponse),
    (muniment.UseReported, memory_service_pb2.ReportUseResponse),
    (muniment.Ingested, ingest_pb2.IngestResponse),
    (muniment.Ingested, ingest_pb2.StreamIngestResponse),
    (muniment.IngestStatus, ingest_pb2.GetIngestResponse),
    (muniment.Restored, correction_pb2.RestoreResponse),
    (muniment.Retracted, correction_pb2.RetractResponse),
    (muniment.Undone, correction_pb2.UndoWriteResponse),
    (muniment.ReviewDecisionMade, review_pb2.DecideReviewResponse),
    (muniment.ConsentSet, subject_pb2.SetConsentResponse),
    (muniment.SubjectDescription, subject_pb2.DescribeSubjectResponse),
    (muniment.Written, subject_pb2.ImportMemoriesResponse),
    *(
        (getattr(muniment, name), module.DESCRIPTOR.message_types_by_name[name]._concrete_class)
        for module in MODULES
        for name in module.DESCRIPTOR.message_types_by_name
        if name in muniment.__all__
    ),
]


@pytest.mark.parametrize(("cls", "wire"), MESSAGES, ids=lambda value: value.__name__)
def test_every_field_of_the_contract_has_its_place(cls: Any, wire: Any) -> None:
    if cls in (muniment.WriteItem, muniment.Embedding, muniment.PropertyCondition):
        return
    renamed: dict[str, Any] = RENAMED.get(cls, {})
    wanted = {renamed.get(field.name, field.name) for field in wire.DESCRIPTOR.fields}
    assert {field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")} == wanted
