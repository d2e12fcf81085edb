"""Values made quickly, where every call makes many of them."""

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def maker(kind: type[T]) -> Callable[..., T]:
    """What makes values of a frozen dataclass with slots from its fields in their order; defaults count not.

    Its own constructor sets each field past the frozen class's refusal, by name: eight times as slow.
    """
    named: list[tuple[str, Any]] = [(one.name, Any) for one in fields(kind)]  # type: ignore[arg-type]
    # The same slots without the refusal: a value changes its class when it is complete.
    open_kind: Any = make_dataclass(f"_{kind.__name__}", named, slots=True, eq=False)
    if kind.__bases__ != (object,):
        raise TypeError("only a class of its own has the same slots")

    def make(*values: Any) -> T:
        made = open_kind(*values)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make
