"""Logs: standard logging, one formatter, as JSON lines or plain text.

A log never quotes an exception's text, because drivers and parsers put values into theirs; what is
written instead is the chain of exception types with the places they came from. Records made inside
a call carry its trace and span id.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, TextIO

from opentelemetry import trace

_FRAMES: Final = 12
# Their own messages at lower levels quote addresses, statements or headers.
_QUIET_LOGGERS: Final = (
    "grpc",
    "psycopg",
    "psycopg.pool",
    "urllib3",
    "httpx",
    "httpcore",
    "asyncio",
    "opentelemetry",
)
_EXTRA: Final = ("method", "reason", "request_id")


def describe_exception(error: BaseException) -> str:
    """Types and places of an exception and its causes, on one line, without any of their texts."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        parts.append(_where(current))
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return " <- ".join(parts)


def _where(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    sqlstate = getattr(error, "sqlstate", None)
    if isinstance(sqlstate, str):
        name += f"[{sqlstate}]"
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = ", ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames)
    return f"{name} ({places})" if places else name


class Formatter(logging.Formatter):
    """Formats records as JSON objects or as plain lines; exceptions through describe_exception."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, str] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            # One record is one line, whatever a library puts into its message.
            "message": record.getMessage().replace("\n", "\\n"),
        }
        for name in _EXTRA:
            value = getattr(record, name, None)
            if isinstance(value, str):
                entry[name] = value
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            entry["trace_id"] = f"{context.trace_id:032x}"
            entry["span_id"] = f"{context.span_id:016x}"
        if record.exc_info and record.exc_info[1] is not None:
            entry["exception"] = describe_exception(record.exc_info[1])
        if self._as_json:
            return json.dumps(entry, ensure_ascii=False)
        head = f"{entry.pop('time')} {entry.pop('level'):<7} {entry.pop('logger')}: {entry.pop('message')}"
        return head + "".join(f" {name}={value}" for name, value in entry.items())

    def formatException(self, ei: object) -> str:  # noqa: N802 - the name is logging's
        error = ei[1] if isinstance(ei, tuple) else None
        return describe_exception(error) if isinstance(error, BaseException) else ""


def configure_logging(level: str = "INFO", *, as_json: bool = False, stream: TextIO | None = None) -> None:
    """Replace the root logger's handlers by one that writes to `stream` (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Formatter(as_json=as_json))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _QUIET_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    sys.excepthook = _log_uncaught


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    logging.getLogger("muniment").critical("uncaught exception", exc_info=(kind, error, trace))
