"""The scenarios hold what they promise: every reason of an error with all its details, and every method."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pool

from muniment_server._gen.muniment.v1 import error_reason_pb2
from muniment_server.domain.errors import BY_REASON
from muniment_server.service import SERVICE_NAMES
from vectors.player import scenarios

PROTO = Path(__file__).resolve().parents[2] / "proto" / "muniment" / "v1" / "error_reason.proto"
PREFIX = "ERROR_REASON_"
REASONS = [name.removeprefix(PREFIX) for name, number in error_reason_pb2.ErrorReason.items() if number != 0]
FIELDS = {"google.rpc.BadRequest": "violations", "google.rpc.RetryInfo": "retry_after_ms"}
"""The details that the clients' errors have a field for."""


def told(reason: str) -> str:
    """What the contract says of a reason."""
    found = re.search(rf"((?:^  //.*\n)+)  {PREFIX}{reason} = ", PROTO.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


@cache
def expected() -> dict[str, list[dict[str, Any]]]:
    """The errors that the scenarios expect of a server, by reason."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for scenario in scenarios().values():
        for step in scenario["steps"]:
            error = step.get("error", {})
            if "reason" in error and isinstance(error["reason"], str):
                found[error["reason"]].append(error)
    return found


def there(error: dict[str, Any], name: str) -> bool:
    """Whether an expectation insists on a part."""
    return bool(error.get(name)) and error[name] != {"$absent": True}


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_stands_in_a_scenario_with_its_details(reason: str) -> None:
    errors = expected()[reason]
    assert errors, f"no scenario expects {reason}"
    assert any(error.get("code") == BY_REASON[reason].code for error in errors)
    named = {key for error in errors if there(error, "metadata") for key in error["metadata"]}
    assert named >= BY_REASON[reason].metadata_keys
    for detail, field in FIELDS.items():
        if f"`{detail}`" in told(reason):
            assert any(there(error, field) for error in errors), f"no scenario expects {field} of {reason}"


def test_no_scenario_expects_a_reason_that_the_contract_does_not_have() -> None:
    assert set(expected()) - set(REASONS) <= {"NOT_HEARD_OF_YET"}


def test_every_method_is_called_and_answers() -> None:
    called = {
        step["call"]
        for scenario in scenarios().values()
        for step in scenario["steps"]
        if "call" in step and "error" not in step
    }
    pool = descriptor_pool.Default()
    methods = {
        f"{service.rpartition('.')[2]}/{method.name}"
        for service in SERVICE_NAMES
        for method in pool.FindServiceByName(service).methods
    }
    assert called == methods
