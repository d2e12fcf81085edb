"""A readable tree of the spans of each call, for a terminal.

Spans are gathered per trace until the one without a local parent ends, then printed together.
Selected with OTEL_TRACES_EXPORTER=console.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from muniment_server.telemetry import names

_KEPT_TRACES: Final = 256
_LISTED_IDS: Final = 3
# Said by the span's name already, or the same on every span.
_UNSAID: Final = frozenset(
    {
        names.GEN_AI_OPERATION_NAME,
        names.GEN_AI_PROVIDER_NAME,
        names.GEN_AI_DATA_SOURCE_ID,
        names.DB_SYSTEM_NAME,
        names.DB_QUERY_SUMMARY,
        names.DB_QUERY_TEXT,
        names.DB_NAMESPACE,
        names.RPC_SYSTEM_NAME,
        names.RPC_METHOD,
        names.SERVER_ADDRESS,
        names.SERVER_PORT,
        names.NETWORK_PEER_ADDRESS,
        names.NETWORK_PEER_PORT,
    }
)
_PREFIXES: Final = ("muniment.recall.", "muniment.", "gen_ai.", "db.", "rpc.response.", "rpc.")


class SpanTreeExporter(SpanExporter):
    """Prints one tree per finished local root span; holds at most 256 unfinished traces."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._waiting: OrderedDict[int, list[ReadableSpan]] = OrderedDict()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        roots: list[ReadableSpan] = []
        for span in spans:
            self._waiting.setdefault(span.context.trace_id, []).append(span)
            if span.parent is None or span.parent.is_remote:
                roots.append(span)
        for root in roots:
            members = self._take(root)
            self._console.print(render(root, members))
        while len(self._waiting) > _KEPT_TRACES:
            self._waiting.popitem(last=False)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._waiting.clear()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True

    def _take(self, root: ReadableSpan) -> list[ReadableSpan]:
        """The root's descendants; other calls of the same trace keep waiting for their own root."""
        trace_id = root.context.trace_id
        held = self._waiting.pop(trace_id, [])
        inside = {root.context.span_id}
        taken: list[ReadableSpan] = []
        # Parents start no later than their children, whatever order they ended in.
        for span in sorted(held, key=lambda item: item.start_time or 0):
            if span is root or (span.parent is not None and span.parent.span_id in inside):
                inside.add(span.context.span_id)
                taken.append(span)
        rest = [span for span in held if span not in taken]
        if rest:
            self._waiting[trace_id] = rest
        return taken


def render(root: ReadableSpan, spans: Iterable[ReadableSpan]) -> Tree:
    """The tree below `root` as rich renders it."""
    children: dict[int, list[ReadableSpan]] = defaultdict(list)
    for span in spans:
        if span is not root and span.parent is not None:
            children[span.parent.span_id].append(span)
    tree = Tree(_line(root).append(f"  trace {root.context.trace_id:032x}", "dim"))
    _grow(tree, root, children)
    return tree


def _grow(tree: Tree, span: ReadableSpan, children: dict[int, list[ReadableSpan]]) -> None:
    for child in children.get(span.context.span_id, ()):
        _grow(tree.add(_line(child)), child, children)


def _line(span: ReadableSpan) -> Text:
    failed = span.status.status_code is StatusCode.ERROR
    text = Text(span.name, "bold red" if failed else "bold cyan" if span.kind is SpanKind.SERVER else "bold")
    milliseconds = ((span.end_time or 0) - (span.start_time or 0)) / 1e6
    text.append(f"  {milliseconds:.1f} ms", "yellow")
    for name, value in (span.attributes or {}).items():
        if name not in _UNSAID:
            text.append(f"  {_short(name)}=", "dim")
            text.append(_value(value))
    return text


def _short(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


def _value(value: AttributeValue) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        shown = ", ".join(_value(item) for item in value[:_LISTED_IDS])
        more = len(value) - _LISTED_IDS
        return f"[{shown}{f', +{more}' if more > 0 else ''}]"
    return str(value)
