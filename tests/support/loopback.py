"""A real HTTP server on loopback, of whatever handler a test needs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, TypeVar


class Endpoint(Protocol):
    """What a handler tells of and obeys. released: ends answers that last."""

    released: threading.Event


E = TypeVar("E", bound=Endpoint)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of a test."""


@contextmanager
def served(made: Callable[[int], E], handler: Callable[[E], type[BaseHTTPRequestHandler]]) -> Iterator[E]:
    """A running endpoint. made: makes it of its port; handler: what answers for it."""
    server = _Server(("127.0.0.1", 0), BaseHTTPRequestHandler)
    endpoint = made(server.server_address[1])
    server.RequestHandlerClass = handler(endpoint)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
