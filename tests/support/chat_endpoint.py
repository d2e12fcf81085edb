"""A real HTTP server on loopback that speaks chat completions, well and badly.

with chat_endpoint() as endpoint:
    endpoint.answers({"candidates": []})       # or .behaves("refuses")
    ... Endpoint(endpoint.url, "test-model", key="secret") ...
    assert endpoint.requests[0]["model"] == "test-model"
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.loopback import served

BEHAVIOURS = (
    "broken_json",
    "no_json",
    "other_schema",
    "empty_choices",
    "cut_off",
    "too_long",
    "refuses",
    "filters",
    "error",
    "forbids",
    "redirects",
    "hangs_up",
    "stalls",
    "trickles",
)
"""How it may fail."""


class ChatEndpoint:
    """What the server was asked, and what it is to do."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.behaviour = "answers"
        self.answer: Callable[[dict[str, Any]], Any] = lambda _request: {"candidates": []}
        self.released = threading.Event()

    def answers(self, value: Any) -> None:
        """Answer with this value, or with what a function makes of the request."""
        self.behaviour = "answers"
        self.answer = value if callable(value) else lambda _request: value

    def behaves(self, behaviour: str) -> None:
        """Fail in this way from now on."""
        self.behaviour = behaviour


def completion(content: Any, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    """A completion with one choice."""
    return {
        "id": "c1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
    }


def _handler(endpoint: ChatEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_arguments: Any) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            endpoint.requests.append(request)
            endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
            ok = json.dumps(endpoint.answer(request))
            match endpoint.behaviour:
                case "answers":
                    self._send(200, completion(ok))
                case "broken_json":
                    self._send(200, completion('{"candidates": [{"content":'))
                case "no_json":
                    self._raw(200, b"<html>busy</html>")
                case "other_schema":
                    self._send(200, completion('{"candidates": [{"content": 5}]}'))
                case "empty_choices":
                    self._send(200, {"choices": []})
                case "cut_off":
                    self._send(200, completion(ok, "length"))
                case "too_long":
                    self._send(200, completion("x" * 2_000_000))
                case "refuses":
                    self._send(200, completion(None, refusal="I cannot help with that."))
                case "filters":
                    self._send(200, completion("", "content_filter"))
                case "error":
                    self._send(503, {"error": {"message": "overloaded"}})
                case "forbids":
                    self._send(401, {"error": {"message": "bad key"}})
                case "redirects":
                    self._raw(
                        307, b"", location=endpoint.url.replace("127.0.0.1", "localhost") + "/elsewhere"
                    )
                case "hangs_up":
                    self.close_connection = True
                    self.connection.close()
                case "stalls":
                    endpoint.released.wait(30)
                    self.close_connection = True
                case "trickles":
                    self.send_response(200)
                    self.send_header("content-length", "1000000")
                    self.end_headers()
                    while not endpoint.released.wait(0.05):
                        self.wfile.write(b" ")
                        self.wfile.flush()
                    self.close_connection = True

        def _send(self, status: int, body: Any) -> None:
            self._raw(status, json.dumps(body).encode())

        def _raw(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler


@contextmanager
def chat_endpoint() -> Iterator[ChatEndpoint]:
    """A running server."""
    with served(ChatEndpoint, _handler) as endpoint:
        yield endpoint
