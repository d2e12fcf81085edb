"""A line chart as SVG, with logarithmic axes and nothing to install."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 460, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 40, 92


@dataclass(frozen=True)
class Line:
    """One line: (x, y) pairs, both above 0."""

    label: str
    colour: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One chart."""

    title: str
    across: str
    up: str
    lines: Sequence[Line]


def svg(panels: Sequence[Panel]) -> str:
    """The charts side by side."""
    width = _WIDTH * len(panels)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" width="{width}"'
            f' height="{_HEIGHT}" font-family="sans-serif" font-size="11">'
        ),
        f'<rect width="{width}" height="{_HEIGHT}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * _WIDTH} 0)">{_panel(panel)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel) -> str:
    xs = [x for line in panel.lines for x, _ in line.points]
    ys = [y for line in panel.lines for _, y in line.points]
    across, up = _Axis.of(xs, _LEFT, _WIDTH - _RIGHT), _Axis.of(ys, _HEIGHT - _BOTTOM, _TOP)
    parts = [f'<text x="{_LEFT}" y="22" font-size="13" font-weight="bold">{escape(panel.title)}</text>']
    for value in up.ticks():
        y = up.place(value)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    for value in sorted(set(xs)):
        x = across.place(value)
        parts.append(f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#eee"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{_number(value)}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - _BOTTOM + 33}" text-anchor="middle">{escape(panel.across)}</text>'
        f'<text x="14" y="{(_TOP + _HEIGHT - _BOTTOM) / 2}" text-anchor="middle" transform="rotate(-90 14'
        f' {(_TOP + _HEIGHT - _BOTTOM) / 2})">{escape(panel.up)}</text>'
    )
    for place, line in enumerate(panel.lines):
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        path = "L".join(f"{across.place(x):.1f} {up.place(y):.1f}" for x, y in sorted(line.points))
        parts.append(f'<path d="M{path}" fill="none" stroke="{line.colour}" stroke-width="2"{dash}/>')
        parts += [
            f'<circle cx="{across.place(x):.1f}" cy="{up.place(y):.1f}" r="3" fill="{line.colour}"/>'
            for x, y in line.points
        ]
        x, y = _LEFT + (place % 2) * 190, _HEIGHT - 42 + (place // 2) * 16
        parts.append(
            f'<path d="M{x} {y - 4}h20" stroke="{line.colour}" stroke-width="2"{dash}/>'
            f'<text x="{x + 26}" y="{y}">{escape(line.label)}</text>'
        )
    return "".join(parts)


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    begin: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], begin: float, end: float) -> "_Axis":
        low, high = log10(min(values)), log10(max(values))
        room = max(0.08, (high - low) * 0.06)
        return cls(low - room, high + room, begin, end)

    def place(self, value: float) -> float:
        return self.begin + (log10(value) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        steps = (1, 2, 5) if self.high - self.low < 2.5 else (1,)
        found = [
            step * 10.0**power for power in range(floor(self.low), floor(self.high) + 1) for step in steps
        ]
        return [one for one in found if self.low <= log10(one) <= self.high]


def _number(value: float) -> str:
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{sign}"
    return f"{value:g}"
