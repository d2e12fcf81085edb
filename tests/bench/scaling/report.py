"""Tables on the console and in docs/performance.md, the chart, and the result as JSON."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.scaling.chart import Line, Panel, svg
from bench.scaling.figures import Point, growths, missed, percentile

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = DOCS / "performance.md"
CHART = DOCS / "performance.svg"
RESULTS = Path(__file__).resolve().parents[3] / "bench-out"
_COLOURS = ("#1b6ca8", "#c8553d", "#4f7942", "#7d5ba6", "#b08900")


def machine() -> dict[str, Any]:
    """What it was measured on; load: of the last minute, the run itself included."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "grpcio": version("grpcio"),
        "load": round(os.getloadavg()[0], 2),
    }


def save(name: str, result: Mapping[str, Any]) -> Path:
    """Write bench-out/`name`.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path


def put(name: str, text: str) -> None:
    """Replace what stands between the markers of `name` in docs/performance.md."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise ValueError(f"{PAGE.name} has no markers for {name!r}")
    PAGE.write_text(f"{head}{begin}\n{text.strip()}\n{end}{tail}", encoding="utf-8")


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every column but the first to the right."""
    marks = ["---" if number < 1 else "---:" for number in range(len(heads))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, marks, *rows))


TIMES = (
    "subject", "tenant", "p50", "p95", "p99", "calls/s", "from text p50", "bare SQL", "empty RPC",
    "embedding",
    "alternative p50", "p95", "calls/s",
)  # fmt: skip
RATIOS = (
    "subject",
    "tenant",
    "given vector",
    "from text",
    "alternative",
    "vector",
    "filtered",
    "words",
    "text",
)


def times(points: Sequence[Point]) -> list[list[str]]:
    """Milliseconds of each point, and calls a second."""
    rows = []
    for one in points:
        timings = one.timings
        given, plain = timings["given"], timings["plain"]
        milliseconds = [given.p50, percentile(given, 0.95), percentile(given, 0.99)]
        rest = [timings["text"].p50, timings["sql"].p50, timings["empty"].p50, timings["embedding"].p50]
        rows.append(
            [
                f"{one.subject:,}",
                f"{one.tenant:,}",
                *(f"{value:.1f}" for value in milliseconds),
                f"{one.rates['given']:.0f}",
                *(f"{value:.1f}" for value in rest),
                f"{plain.p50:.1f}",
                f"{percentile(plain, 0.95):.1f}",
                f"{one.rates['plain']:.0f}",
            ]
        )
    return rows


def ratios(points: Sequence[Point]) -> list[list[str]]:
    """What the goals speak of."""
    return [
        [
            f"{one.subject:,}",
            f"{one.tenant:,}",
            f"{one.given_ratio:.2f}",
            f"{one.text_ratio:.2f}",
            f"{one.plain_ratio:.2f}",
            *(f"{one.recalls[name]:.3f}" for name in ("vector", "filtered", "words", "text")),
        ]
        for one in points
    ]


def show(console: Console, points: Sequence[Point]) -> None:
    """On the console."""
    for title, heads, rows in (
        ("milliseconds; calls a second with several callers", TIMES, times(points)),
        ("ratios, and recall@10 against a search through everything", RATIOS, ratios(points)),
    ):
        table = Table(title=title)
        for head in heads:
            table.add_column(head, justify="right")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def markdown(points: Sequence[Point], about: Mapping[str, Any], command: str) -> str:
    """The part of docs/performance.md."""
    growth = growths(list(points))
    grown = "; ".join(f"subject {size:,}: {value:.2f}" for size, value in growth.items())
    loads = [one.load for one in points]
    about_it = (
        f"Measured {about['date']} on {about['processors']} processors ({about['machine']}), embedder"
        f" {about['model']}, {about['neighbours']:,} tenants of {about['neighbour_size']} memories beside"
        f" it, with `{command}`. Load of the machine, to which the run itself adds about 1:"
        f" {about['load_before']:.1f} before, {min(loads):.1f} to {max(loads):.1f} during the run."
    )
    return "\n\n".join(
        [
            about_it,
            f"Milliseconds, and calls a second of {about['callers']} callers at once:",
            grid(TIMES, times(points)),
            "Ratios as the goals name them, and recall@10:",
            grid(RATIOS, ratios(points)),
            f"p95 in the largest tenant to p95 in the smallest: {grown}." if grown else "",
            "Goals missed in this run:",
            "\n".join(f"- {one}" for one in missed(list(points))) or "none.",
            "![Recall against the size of the subject and of the tenant](performance.svg)",
        ]
    )


def draw(points: Sequence[Point]) -> None:
    """The chart of docs/performance.md."""
    largest = max(one.tenant for one in points)
    some = sorted((one for one in points if one.tenant == largest), key=lambda one: one.subject)
    by_subject = [
        Line("Recall p50", _COLOURS[0], [(one.subject, one.timings["given"].p50) for one in some]),
        Line(
            "Recall p95", _COLOURS[0],
            [(one.subject, percentile(one.timings["given"], 0.95)) for one in some], dashed=True,
        ),
        Line("Recall from text p50", _COLOURS[1], [(one.subject, one.timings["text"].p50) for one in some]),
        Line(
            "bare SQL + empty RPC p50", _COLOURS[2],
            [(one.subject, one.timings["sql"].p50 + one.timings["empty"].p50) for one in some],
        ),
        Line("alternative p50", _COLOURS[3], [(one.subject, one.timings["plain"].p50) for one in some]),
    ]  # fmt: skip
    sizes = sorted({one.subject for one in points})
    by_tenant = [
        Line(
            f"subject {size:,}",
            _COLOURS[place % len(_COLOURS)],
            [(one.tenant, percentile(one.timings["given"], 0.95)) for one in points if one.subject == size],
        )
        for place, size in enumerate(sizes)
    ]
    CHART.write_text(
        svg(
            [
                Panel(
                    f"By size of the subject (tenant {largest:,})",
                    "memories of the subject", "milliseconds", by_subject,
                ),
                Panel(
                    "By size of the tenant: Recall p95",
                    "memories of the tenant", "milliseconds", by_tenant,
                ),
            ]
        ),
        encoding="utf-8",
    )  # fmt: skip
