"""`make bench-clients` names the clients whose layer costs more than the goal allows."""

from typing import Any

from vectors.bench import show


def figures(raw: float, layer: float) -> dict[str, Any]:
    """What a driver measured: medians in microseconds."""
    return {
        "raw": {"p50_us": raw},
        "layer": {"p50_us": layer, "errors": 0},
        "many": {"per_second": 1.0, "errors": 0},
    }


def test_what_misses_the_goal_is_named() -> None:
    measured = {
        "a tenth": figures(1000, 1099),
        "little": figures(100, 149),
        "less": figures(1000, 900),
        "much": figures(1000, 1101),
        "more": figures(100, 151),
    }
    assert show(measured) == ["much", "more"]
