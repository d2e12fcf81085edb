"""Asking endpoints: everybody in the same way, over nobody else, in time; real servers on loopback."""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from muniment_server.embedding import EmbedderUnavailable
from muniment_server.embedding.errors import EmbedderSlow
from muniment_server.embedding.http import HttpEmbedder
from muniment_server.embedding.options import HttpOptions
from muniment_server.extraction.chat import ChatModel
from muniment_server.extraction.chat import Endpoint as ChatEndpoint
from muniment_server.extraction.errors import LlmError, LlmTimeout
from muniment_server.outbound import AnswerTooLong, EndpointClient, Late, StatusRefused, Unreached
from muniment_server.reranking.base import RerankFailed, RerankLate
from muniment_server.reranking.http import Endpoint as RerankEndpoint
from muniment_server.reranking.http import HttpReranker
from support.loopback import served
from vectors.tls import Authority

KEY = "sk-very-secret-key"
TEXT = "the locker combination is 9083"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class Server:
    """What it was asked, and how it answers: `behaviour` is the name of a method of the handler."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.paths: list[str] = []
        self.behaviour = "errs"
        self.most = 0
        self.asking = 0
        self.lock = threading.Lock()
        self.asked = threading.Semaphore(0)
        self.released = threading.Event()


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_arguments: Any) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            with server.lock:
                server.paths.append(self.path)
                server.asking += 1
                server.most = max(server.most, server.asking)
            server.asked.release()
            getattr(self, server.behaviour)()
            with server.lock:
                server.asking -= 1

        def errs(self) -> None:
            self.says(501, json.dumps({"message": f"{KEY} {TEXT}"}).encode())

        def redirects(self) -> None:
            self.says(307, b"", location=f"{server.url}/elsewhere")

        def answers(self) -> None:
            self.says(200, b"{}")

        def floods(self) -> None:
            self.says(200, b"x" * 2_000)

        def is_busy(self) -> None:
            self.says(429, b"", **{"retry-after": "7"})

        def waits(self) -> None:
            server.released.wait(30)
            self.answers()

        def trickles(self) -> None:
            """A header that has no end."""
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\nx-padding: ")
            try:
                while not server.released.wait(0.05):
                    self.wfile.write(b"a")
                    self.wfile.flush()
            except OSError:
                pass

        def says(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler


@pytest.fixture
def server() -> Iterator[Server]:
    with served(Server, handler) as running:
        yield running


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """What the environment names as the way to everywhere."""
    with served(Server, handler) as running:
        for name in VARIABLES:
            monkeypatch.setenv(name, running.url.removesuffix("/v1"))
            monkeypatch.setenv(name.lower(), running.url.removesuffix("/v1"))
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield running


async def embeds(url: str, seconds: float) -> None:
    embedder = HttpEmbedder(HttpOptions(url, "small", 4, KEY, timeout=seconds))
    try:
        await asyncio.to_thread(embedder.embed_query, TEXT)
    finally:
        await asyncio.to_thread(embedder.close)


async def reranks(url: str, seconds: float) -> None:
    reranker = HttpReranker(RerankEndpoint(url, "small", KEY))
    try:
        await reranker.rerank(TEXT, [TEXT], seconds)
    finally:
        await reranker.close()


async def asks(url: str, seconds: float) -> None:
    model = ChatModel(ChatEndpoint(url, "small", KEY, timeout=seconds))
    try:
        await model.ask("Answer.", TEXT, name="answer", schema={"type": "object"})
    finally:
        await model.close()


Ask = Callable[[str, float], Awaitable[None]]
EVERYBODY = pytest.mark.parametrize(
    ("ask", "path"), [(embeds, "embeddings"), (reranks, "rerank"), (asks, "chat/completions")]
)
FAILURES = (EmbedderUnavailable, RerankFailed, LlmError)


@EVERYBODY
@pytest.mark.parametrize(("behaviour", "status"), [("errs", "501"), ("redirects", "307")])
async def test_nothing_goes_anywhere_else_and_no_error_gives_anything_away(
    server: Server, proxy: Server, ask: Ask, path: str, behaviour: str, status: str
) -> None:
    server.behaviour = behaviour
    with pytest.raises(FAILURES, match=status) as failed:
        await ask(server.url, 5.0)
    assert server.paths == [f"/v1/{path}"]
    assert proxy.paths == []
    told = f"{failed.value!r} {failed.value.__cause__!r}"
    assert KEY not in told
    assert "9083" not in told
    assert failed.value.__context__ is None or failed.value.__suppress_context__


@EVERYBODY
async def test_a_header_without_an_end_takes_no_longer_than_the_time_there_is(
    server: Server, ask: Ask, path: str
) -> None:
    server.behaviour = "trickles"
    begun = time.monotonic()
    with pytest.raises((EmbedderSlow, RerankLate, LlmTimeout)):
        await ask(server.url, 0.5)
    assert time.monotonic() - begun < 3.0
    assert server.paths == [f"/v1/{path}"]


async def test_every_fault_has_its_own_name(server: Server) -> None:
    client = EndpointClient(server.url, KEY, parallel=1, most_bytes=1_000)
    server.behaviour = "answers"
    assert await client.post("x", {}, 5.0) == b"{}"
    server.behaviour = "floods"
    with pytest.raises(AnswerTooLong):
        await client.post("x", {}, 5.0)
    server.behaviour = "is_busy"
    with pytest.raises(StatusRefused, match=r"^HTTP status 429$") as refused:
        await client.post("x", {}, 5.0)
    assert (refused.value.status, refused.value.retry_after) == (429, "7")
    server.behaviour = "waits"
    with pytest.raises(Late):
        await client.post("x", {}, 0.2)
    await client.close()
    away = EndpointClient("http://127.0.0.1:1/v1", KEY, parallel=1)
    with pytest.raises(Unreached, match=r"^ConnectError$"):
        await away.post("x", {}, 5.0)
    await away.close()


async def test_no_more_at_once_than_was_said_and_waiting_counts_as_time(server: Server) -> None:
    server.behaviour = "waits"
    client = EndpointClient(server.url, parallel=2)
    begun = [asyncio.create_task(client.post("x", {}, 20.0)) for _ in range(2)]
    for _ in begun:
        await asyncio.to_thread(server.asked.acquire, timeout=20)
    with pytest.raises(Late):
        await client.post("x", {}, 0.2)
    server.released.set()
    assert await asyncio.gather(*begun) == [b"{}"] * 2
    assert (len(server.paths), server.most) == (2, 2)
    await client.close()


@pytest.mark.parametrize("believed", [True, False])
async def test_certificates_are_believed_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, believed: bool
) -> None:
    ours, others = Authority(tmp_path, "ours"), Authority(tmp_path, "others")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*ours.issue("server"))
    answering = Server(0)
    answering.behaviour = "answers"
    listening = ThreadingHTTPServer(("127.0.0.1", 0), handler(answering))
    listening.socket = context.wrap_socket(listening.socket, server_side=True)
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", (ours if believed else others).certificate)
    client = EndpointClient(f"https://127.0.0.1:{listening.server_port}/v1", KEY, parallel=1)
    try:
        if believed:
            assert await client.post("x", {}, 5.0) == b"{}"
        else:
            with pytest.raises(Unreached, match=r"^ConnectError$"):
                await client.post("x", {}, 5.0)
    finally:
        await client.close()
        listening.shutdown()
        listening.server_close()
        thread.join()
