"""A real HTTP server on loopback that speaks `/embeddings`, and stops answering when told to.

with embedding_endpoint() as endpoint:
    ... HttpEmbedder(endpoint.options()) ...
    endpoint.stalls()                # until endpoint.goes_on()
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np

from muniment_server.embedding.options import HttpOptions
from support.embedders import DeterministicEmbedder
from support.loopback import served


class EmbeddingEndpoint:
    """What the server was asked, and whether it answers. released: set while it does."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.texts: list[str] = []
        self.released = threading.Event()
        self.released.set()

    def options(self, **changes: Any) -> HttpOptions:
        """How to reach it; it is waited for longer than any call lasts."""
        values: dict[str, Any] = {"url": self.url, "model": "small", "dimension": 384, "timeout": 60.0}
        return HttpOptions(**(values | changes))

    def stalls(self) -> None:
        """Take requests from now on, and say nothing."""
        self.released.clear()

    def goes_on(self) -> None:
        """Answer them, and all that come."""
        self.released.set()


def _handler(endpoint: EmbeddingEndpoint) -> type[BaseHTTPRequestHandler]:
    embedder = DeterministicEmbedder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_arguments: Any) -> None:
            pass

        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            endpoint.texts += texts
            endpoint.released.wait(30)
            rows: list[Any] = [np.asarray(embedder.embed_query(text)).tolist() for text in texts]
            body = json.dumps({"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]})
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    return Handler


@contextmanager
def embedding_endpoint() -> Iterator[EmbeddingEndpoint]:
    """A running endpoint."""
    with served(EmbeddingEndpoint, _handler) as endpoint:
        yield endpoint
