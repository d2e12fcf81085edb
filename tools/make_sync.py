"""Makes the client's synchronous modules from the asynchronous ones: `make sync`.

The asynchronous ones are the source of truth. The conversion works on tokens: `async` and `await` go,
names that differ are exchanged (NAMES), and texts (docstrings, quoted annotations) are edited by TEXTS.
What cannot be converted stands in the `runtime` module of each side. With --check nothing is written;
the exit code is 1 when a module is not what its source gives.
"""

import argparse
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "clients" / "python" / "muniment"
MODULES = (
    "audit",
    "calls",
    "client",
    "connect",
    "conversations",
    "corrections",
    "model_call",
    "pages",
    "subjects",
)

NAMES = {
    "_async": "_sync",
    "connect": "connect_sync",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "AsyncIterator": "Iterator",
    "AuditServiceAsyncStub": "AuditServiceStub",
    "MemoryServiceAsyncStub": "MemoryServiceStub",
    "ReviewServiceAsyncStub": "ReviewServiceStub",
    "SubjectServiceAsyncStub": "SubjectServiceStub",
}
# What the linter would write shorter in code that was made, not written.
LINT = "# ruff: noqa: C416, RUF100, SIM117, UP028"

PREFIXED = re.compile(r"Async(?=[A-Z])")

TEXTS = (
    (re.compile(r"\basync (?=with|for|def)"), ""),
    (re.compile(r"\bawait "), ""),
    (re.compile(r"\bmuniment\.connect\b"), "muniment.connect_sync"),
    (re.compile(r"\bgrpc\.aio\."), "grpc."),
    (re.compile(r"\b(\w+Service)AsyncStub\b"), r"\1Stub"),
    (re.compile(r"\bAsync(?=[A-Z])"), ""),
    (re.compile(r"\b([Aa])n asynchronous\b"), r"\1 synchronous"),
    (re.compile(r"\basynchronous\b"), "synchronous"),
    (re.compile(r"\beverything in one event loop\b"), "all threads"),
    (re.compile(r"\bthe process and the event loop\b"), "the process"),
)


def convert(source: str) -> str:
    """The synchronous form of a module."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    edits: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    for index, token in enumerate(tokens):
        if token.type == tokenize.NAME:
            if token.string in ("async", "await"):
                # With the blank behind it.
                edits.append((token.start, tokens[index + 1].start, ""))
            elif token.string == "aio" and tokens[index - 1].string == ".":
                # `grpc.aio.Channel`: without `.aio`.
                edits.append((tokens[index - 1].start, token.end, ""))
            else:
                name = NAMES.get(token.string) or PREFIXED.sub("", token.string)
                if name != token.string:
                    edits.append((token.start, token.end, name))
        elif token.type == tokenize.STRING:
            text = token.string
            for pattern, replacement in TEXTS:
                text = pattern.sub(replacement, text)
            if text != token.string:
                edits.append((token.start, token.end, text))
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for start, end, text in reversed(edits):
        source = source[: starts[start[0] - 1] + start[1]] + text + source[starts[end[0] - 1] + end[1] :]
    return source


def tidy(source: str, path: Path) -> str:
    """Formatted and with sorted imports, as the linter wants it."""
    for arguments in (["check", "--quiet", "--fix-only", "--select", "I"], ["format", "--quiet"]):
        command = [str(Path(sys.executable).parent / "ruff"), *arguments, "--stdin-filename", str(path), "-"]
        source = subprocess.run(
            command, input=source, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    return source


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    stale = False
    for module in MODULES:
        origin = PACKAGE / "_async" / f"{module}.py"
        path = PACKAGE / "_sync" / f"{module}.py"
        note = f"# Made from {origin.relative_to(PACKAGE)} by `make sync`. Do not edit.\n{LINT}\n"
        made = tidy(note + convert(origin.read_text("utf-8")), path)
        if path.exists() and path.read_text("utf-8") == made:
            continue
        if check:
            stale = True
            print(f"not up to date: {path.relative_to(ROOT)}")
        else:
            path.write_text(made, "utf-8")
    if stale:
        print("run `make sync` and commit the result")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
