"""Values made quickly are the values that their own constructor makes."""

from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any

import pytest

from muniment_server.domain.making import maker
from muniment_server.domain.model import Memory, Revision


@pytest.mark.parametrize("kind", [Revision, Memory])
def test_they_are_equal_and_of_the_class(kind: Any) -> None:
    values = [f"value {number}" for number, _ in enumerate(fields(kind))]
    made, usual = maker(kind)(*values), kind(*values)
    assert type(made) is kind
    assert made == usual
    assert repr(made) == repr(usual)


def test_they_are_as_frozen_as_others() -> None:
    made: Any = maker(Revision)(*range(len(fields(Revision))))
    with pytest.raises(FrozenInstanceError):
        made.revision = 2
    with pytest.raises((AttributeError, TypeError)):
        made.other = 1


def test_one_field_too_few_is_refused() -> None:
    with pytest.raises(TypeError):
        maker(Revision)(*range(len(fields(Revision)) - 1))


def test_a_class_with_others_above_it_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Below(Revision):
        more: int = 0

    with pytest.raises(TypeError):
        maker(Below)
