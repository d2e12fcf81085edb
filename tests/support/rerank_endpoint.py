"""A real HTTP server on loopback that speaks `/rerank`, well and badly.

with rerank_endpoint() as endpoint:
    endpoint.prefers("tea")              # or .answers(lambda request: ...), or .behaves("stalls")
    ... Endpoint(endpoint.url, "test-model", key="secret") ...
    assert endpoint.requests[0]["query"] == "..."
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.loopback import served

BAD_ANSWERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no_results": lambda _: {"data": []},
    "a_list": lambda _: [],
    "none_at_all": lambda _: {"results": []},
    "one_missing": lambda request: {"results": scored(request, lambda _: 0.5)[1:]},
    "one_twice": lambda request: {"results": scored(request, lambda _: 0.5)[:1] * len(request["documents"])},
    "beyond_the_documents": lambda request: {
        "results": [*scored(request, lambda _: 0.5)[1:], {"index": 99, "relevance_score": 0.5}]
    },
    "negative_index": lambda request: {
        "results": [*scored(request, lambda _: 0.5)[1:], {"index": -1, "relevance_score": 0.5}]
    },
    "index_as_text": lambda _: {"results": [{"index": "0", "relevance_score": 0.5}]},
    "score_as_text": lambda request: {"results": scored(request, lambda _: "0.5")},
    "score_true": lambda request: {"results": scored(request, lambda _: True)},
    "no_number": lambda request: {"results": scored(request, lambda _: float("nan"))},
    "infinite": lambda request: {"results": scored(request, lambda _: float("inf"))},
    "huge": lambda request: {"results": scored(request, lambda _: 10**400)},
    "a_logit": lambda request: {"results": scored(request, lambda _: 4.2)},
    "too_long": lambda _: {"results": "x" * 2_000_000},
}
"""Answers with status 200 that are no scores of the documents."""

FAULTS = ("no_json", "deep", "error", "forbids", "redirects", "hangs_up", "stalls", "trickles")
"""Other ways to fail; the last two never end by themselves."""


def scored(request: dict[str, Any], score: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Results in descending order of their scores, as endpoints send them."""
    found = [
        {"index": index, "relevance_score": score(document)}
        for index, document in enumerate(request["documents"])
    ]
    return sorted(found, key=lambda one: str(one["relevance_score"]), reverse=True)


class RerankEndpoint:
    """What the server was asked, and what it is to do."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.paths: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.behaviour = "answers"
        self.answer: Callable[[dict[str, Any]], Any] = lambda _: {"results": []}
        self.released = threading.Event()
        self.asked = threading.Event()

    def answers(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        """Answer with what a function makes of the request."""
        self.behaviour = "answers"
        self.answer = answer

    def prefers(self, *words: str) -> None:
        """Score a document 0.9, 0.8, ... by the first of these words that it has, and 0.01 without one."""

        def score(document: str) -> float:
            places = [place for place, word in enumerate(words) if word in document]
            return round(0.9 - 0.1 * places[0], 1) if places else 0.01

        self.answers(lambda request: {"results": scored(request, score)})

    def behaves(self, behaviour: str) -> None:
        """Fail in this way from now on."""
        if behaviour in BAD_ANSWERS:
            self.answers(BAD_ANSWERS[behaviour])
        else:
            self.behaviour = behaviour


def _handler(endpoint: RerankEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_arguments: Any) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            endpoint.paths.append(self.path)
            endpoint.requests.append(request)
            endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
            endpoint.asked.set()
            match endpoint.behaviour:
                case "answers":
                    self._send(200, json.dumps(endpoint.answer(request)).encode())
                case "no_json":
                    self._send(200, b"<html>busy</html>")
                case "deep":
                    self._send(200, b'{"results":' + b"[" * 100_000)
                case "error":
                    self._send(503, b'{"message": "overloaded"}')
                case "forbids":
                    self._send(401, b'{"message": "bad key"}')
                case "redirects":
                    self._send(307, b"", location=f"{endpoint.url}/elsewhere")
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
                    self.close_connection = True
                    try:
                        while not endpoint.released.wait(0.05):
                            self.wfile.write(b" ")
                            self.wfile.flush()
                    except OSError:
                        pass

        def _send(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler


@contextmanager
def rerank_endpoint() -> Iterator[RerankEndpoint]:
    """A running endpoint."""
    with served(RerankEndpoint, _handler) as endpoint:
        yield endpoint
