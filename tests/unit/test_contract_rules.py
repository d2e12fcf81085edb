"""Rules that every request of the contract obeys, whatever is added to it later."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import protovalidate
import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from muniment_server._gen.buf.validate import validate_pb2
from muniment_server._gen.muniment.v1 import audit_pb2, memory_service_pb2, review_pb2, subject_pb2
from muniment_server.domain.errors import BY_REASON

PROTO = Path(__file__).resolve().parents[2] / "proto" / "muniment" / "v1"
SERVICES: list[ServiceDescriptor] = [
    memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
    audit_pb2.DESCRIPTOR.services_by_name["AuditService"],
    review_pb2.DESCRIPTOR.services_by_name["ReviewService"],
    subject_pb2.DESCRIPTOR.services_by_name["SubjectService"],
]
METHODS: list[MethodDescriptor] = [method for service in SERVICES for method in service.methods]
WRITES = {
    "Write", "Supersede", "Erase", "ReportUse", "Ingest", "StreamIngest", "Restore", "Retract", "UndoWrite",
    "DecideReview", "SetConsent", "ImportMemories",
}  # fmt: skip
VALIDATOR = protovalidate.Validator()


class Place(NamedTuple):
    """A field somewhere below a request."""

    request: Descriptor
    fields: tuple[FieldDescriptor, ...]

    def __str__(self) -> str:
        return ".".join((self.request.name, *(field.name for field in self.fields)))


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def content_type(field: FieldDescriptor) -> Descriptor | None:
    """The message that a field, a list or a map holds."""
    return field.message_type.fields_by_name["value"].message_type if is_map(field) else field.message_type


def places(request: Descriptor, above: tuple[FieldDescriptor, ...] = ()) -> Iterator[Place]:
    message = content_type(above[-1]) if above else request
    for field in message.fields:
        here = (*above, field)
        yield Place(request, here)
        content = content_type(field)
        if content is not None and content.file.package == "muniment.v1":
            yield from places(request, here)


PLACES = [place for method in METHODS for place in places(method.input_type)]
STRINGS = [
    place
    for place in PLACES
    if place.fields[-1].type == FieldDescriptor.TYPE_STRING
    or (is_map(place.fields[-1]) and place.fields[-1].message_type.fields_by_name["key"].type == 9)
]
ENUMS = [place for place in PLACES if place.fields[-1].type == FieldDescriptor.TYPE_ENUM]
NUMBERS = [
    place
    for place in PLACES
    if place.fields[-1].cpp_type
    in {
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
        FieldDescriptor.CPPTYPE_FLOAT,
        FieldDescriptor.CPPTYPE_DOUBLE,
    }
]


def rules_of(field: FieldDescriptor) -> Any:
    return field.GetOptions().Extensions[validate_pb2.field]


def string_rules(field: FieldDescriptor) -> Any:
    rules = rules_of(field)
    if is_map(field):
        return rules.map.keys.string
    return rules.repeated.items.string if field.is_repeated else rules.string


def message_with(place: Place, value: object) -> Message:
    """A request in which nothing is set but this one field."""
    request = GetMessageClass(place.request)()
    message: Any = request
    for field in place.fields[:-1]:
        inner = getattr(message, field.name)
        if is_map(field):
            message = inner["key"]
        elif field.is_repeated:
            message = inner.add()
        else:
            inner.SetInParent()
            message = inner
    last = place.fields[-1]
    if is_map(last):
        getattr(message, last.name)[value].SetInParent()
    elif last.is_repeated:
        getattr(message, last.name).append(value)
    else:
        setattr(message, last.name, value)
    return request


def broken_rules(place: Place, value: object) -> set[str]:
    """Ids of the rules that the field breaks, found under its own path."""
    path = [field.name for field in place.fields]
    found = set()
    for violation in VALIDATOR.collect_violations(message_with(place, value)):
        elements = [
            element.field_name
            for element in (violation.proto.field.elements if violation.proto.field else ())
        ]
        if elements == path or (is_map(place.fields[-1]) and elements[: len(path)] == path):
            found.add(violation.proto.rule_id)
    return found


@pytest.mark.parametrize("place", STRINGS, ids=str)
def test_every_request_string_has_a_limit(place: Place) -> None:
    rules = string_rules(place.fields[-1])
    assert rules.max_len or rules.max_bytes
    assert broken_rules(place, "a" * 40_000)


@pytest.mark.parametrize("place", STRINGS, ids=str)
def test_every_request_string_refuses_nul(place: Place) -> None:
    assert broken_rules(place, "a\0b")
    assert broken_rules(place, "\0")


@pytest.mark.parametrize("place", ENUMS, ids=str)
def test_every_request_enum_refuses_unknown_numbers(place: Place) -> None:
    assert "enum.defined_only" in broken_rules(place, 99)


@pytest.mark.parametrize("place", NUMBERS, ids=str)
def test_every_request_number_has_a_rule(place: Place) -> None:
    last = place.fields[-1]
    assert rules_of(last).WhichOneof("type")
    if last.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        assert broken_rules(place, float("nan"))
        assert broken_rules(place, float("inf"))


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_every_request_list_has_a_limit(place: Place) -> None:
    last = place.fields[-1]
    if is_map(last):
        assert rules_of(last).map.max_pairs
    elif last.is_repeated:
        assert rules_of(last).repeated.max_items


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)
def test_reads_are_marked_and_writes_take_a_request_id(method: MethodDescriptor) -> None:
    level = method.GetOptions().idempotency_level
    if method.name in WRITES:
        assert level == descriptor_pb2.MethodOptions.IDEMPOTENCY_UNKNOWN
        assert method.input_type.fields_by_name["request_id"].number == 10
    else:
        assert level == descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS
        assert "request_id" not in method.input_type.fields_by_name


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)
def test_pages_have_their_list_first(method: MethodDescriptor) -> None:
    if "page_token" not in method.input_type.fields_by_name:
        return
    assert "page_size" in method.input_type.fields_by_name
    assert "next_page_token" in method.output_type.fields_by_name
    assert method.output_type.fields_by_number[1].is_repeated


def test_the_tenant_is_in_no_request() -> None:
    assert not [str(place) for place in PLACES if "tenant" in place.fields[-1].name]


def test_recall_defaults_are_told_from_zero() -> None:
    fields = memory_service_pb2.RecallRequest.DESCRIPTOR.fields_by_name
    assert all(fields[name].has_presence for name in ("limit", "min_score", "token_budget"))


def reasons() -> dict[str, tuple[str, set[str]]]:
    """Name → (status code, metadata keys) as the comments of error_reason.proto state them."""
    text = (PROTO / "error_reason.proto").read_text("utf-8")
    found = {}
    for comment, name in re.findall(r"((?:  //.*\n)+)  ERROR_REASON_(\w+) = \d+;", text):
        words = " ".join(comment.replace("//", " ").split())
        code = words.split(".", 1)[0]
        metadata = words.rsplit("Metadata:", 1)[1] if "Metadata:" in words else ""
        assert metadata or "No metadata." in words or code == "Not set", name
        keys = set(re.findall(r"`(\w+)`", metadata))
        found[name] = (code, keys)
    return found


def test_every_error_reason_is_documented_and_has_its_class() -> None:
    documented = reasons()
    values = memory_service_pb2.DESCRIPTOR.pool.FindEnumTypeByName("muniment.v1.ErrorReason").values
    names = {value.name.removeprefix("ERROR_REASON_") for value in values}
    assert names == documented.keys()
    del documented["UNSPECIFIED"]
    assert BY_REASON.keys() == documented.keys()
    assert {name: error.code for name, error in BY_REASON.items()} == {
        name: code for name, (code, _) in documented.items()
    }
    assert all(len(name) <= 63 for name in names)


@pytest.mark.parametrize("reason", sorted(reasons().keys() - {"UNSPECIFIED"}))
def test_metadata_keys_are_those_of_the_contract(reason: str) -> None:
    assert BY_REASON[reason].metadata_keys == reasons()[reason][1]


def test_the_service_config_covers_every_service() -> None:
    config = json.loads((PROTO / "muniment_grpc_service_config.json").read_text("utf-8"))
    (method_config,) = config["methodConfig"]
    assert {entry["service"] for entry in method_config["name"]} == {
        service.full_name for service in SERVICES
    }
    assert method_config["retryPolicy"]["retryableStatusCodes"] == ["UNAVAILABLE"]
    assert method_config["retryPolicy"]["maxAttempts"] <= 5
