"""Conditions on caller-owned properties, as a jsonpath predicate that is bound as a parameter.

Keys are matched against a fixed pattern and values are quoted as JSON, so that a condition is data
wherever it goes. A key that a memory does not have fulfils only the negative conditions.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from .model import PropertyValue


class Operator(Enum):
    """How a property is compared."""

    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    IN = "in"
    RANGE = "range"
    EXISTS = "exists"
    NOT_EXISTS = "not_exists"


@dataclass(frozen=True, slots=True)
class PropertyCondition:
    """One condition. `values` for EQUALS, NOT_EQUALS and IN; the bounds for RANGE (numbers)."""

    key: str
    operator: Operator
    values: tuple[PropertyValue, ...] = ()
    gt: float | None = None
    gte: float | None = None
    lt: float | None = None
    lte: float | None = None


def _literal(value: PropertyValue) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a property's number must be finite")
    return json.dumps(value)


def _predicate(condition: PropertyCondition) -> str:
    field = f"$.{json.dumps(condition.key)}"
    match condition.operator:
        case Operator.EQUALS | Operator.IN:
            return "(" + " || ".join(f"{field} == {_literal(value)}" for value in condition.values) + ")"
        case Operator.NOT_EQUALS:
            equal = " || ".join(f"{field} == {_literal(value)}" for value in condition.values)
            # Values of two types compare as unknown, and the opposite of that is unknown as well.
            return f"(!({equal}) || ({equal}) is unknown)"
        case Operator.EXISTS:
            return f"exists({field})"
        case Operator.NOT_EXISTS:
            return f"!(exists({field}))"
        case Operator.RANGE:
            bounds = [
                f"{field} {sign} {_literal(float(bound))}"
                for sign, bound in (
                    (">", condition.gt),
                    (">=", condition.gte),
                    ("<", condition.lt),
                    ("<=", condition.lte),
                )
                if bound is not None
            ]
            return "(" + " && ".join(bounds) + ")"


def to_jsonpath(conditions: Sequence[PropertyCondition]) -> str | None:
    """All conditions joined by AND, or None when there are none."""
    if not conditions:
        return None
    return " && ".join(_predicate(condition) for condition in conditions)


def matches(conditions: Sequence[PropertyCondition], properties: dict[str, PropertyValue]) -> bool:
    """The same in plain Python: the oracle of the tests."""
    return all(_matches(condition, properties) for condition in conditions)


def _same(left: PropertyValue, right: PropertyValue) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _matches(condition: PropertyCondition, properties: dict[str, PropertyValue]) -> bool:
    present = condition.key in properties
    value = properties.get(condition.key)
    match condition.operator:
        case Operator.EXISTS:
            return present
        case Operator.NOT_EXISTS:
            return not present
        case Operator.EQUALS | Operator.IN:
            return value is not None and any(_same(value, wanted) for wanted in condition.values)
        case Operator.NOT_EQUALS:
            return value is None or not any(_same(value, wanted) for wanted in condition.values)
        case Operator.RANGE:
            if value is None or isinstance(value, (bool, str)):
                return False
            return (
                (condition.gt is None or value > condition.gt)
                and (condition.gte is None or value >= condition.gte)
                and (condition.lt is None or value < condition.lt)
                and (condition.lte is None or value <= condition.lte)
            )
