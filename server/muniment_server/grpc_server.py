"""The gRPC server's life: options, TLS, health before everything else, signals, and an orderly end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from muniment_server.health import Health, ReadinessCheck
from muniment_server.interceptors.call import Stage
from muniment_server.interceptors.errors import ErrorStage
from muniment_server.interceptors.gate import Gate, LateHandlers
from muniment_server.telemetry.logs import describe_exception

_log = logging.getLogger("muniment.server")

Result = TypeVar("Result")

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
MIN_PING_SECONDS: Final = 10.0
"""Clients may ping this often, also without a call. docs/platform-team.md tells it."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_HEALTH_SERVICE: Final = "grpc.health.v1.Health"
_LAST_WORDS: Final = 0.5
"""Seconds, at most a fifth of the grace: what calls that outlast it have to answer that the server stops."""

OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    # One MiB above the documented limit: what is slightly too large gets an answer that names the
    # limit instead of the transport's own error, which carries no details.
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES + 1024 * 1024),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # With the interval of `min_ping_seconds`; without it, an idle client may ping every two hours.
    ("grpc.keepalive_permit_without_calls", 1),
    # Connections end after a while, so that clients spread anew over the servers there are then.
    ("grpc.max_connection_age_ms", 30 * 60_000),
    ("grpc.max_connection_age_grace_ms", 60_000),
    ("grpc.max_connection_idle_ms", 15 * 60_000),
)


class ServerError(Exception):
    """The server cannot start; the text is one line that says what to do."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. client_ca: with it, clients must show a certificate that it signed."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """Read the files. Raises ServerError."""
        try:
            pair = (self.key.read_bytes(), self.certificate.read_bytes())
            authority = self.client_ca.read_bytes() if self.client_ca is not None else None
        except OSError as error:
            raise ServerError(f"cannot read the TLS file {error.filename}: {error.strerror}") from error
        return grpc.ssl_server_credentials(
            [pair], root_certificates=authority, require_client_auth=authority is not None
        )


class GrpcServer:
    """One grpc.aio server with health and reflection: `start` it before all else, `open` it after.

    services: full names of what it will serve. listen: `host:port`, port 0 for any; `port` tells the one
    chosen. before: the stages of calls that come before it is open. min_ping_seconds: a client that pings
    more often for a while is sent away (GOAWAY, too many pings). Must be made, started and stopped in one
    running event loop.
    """

    def __init__(
        self,
        *,
        listen: str,
        services: Sequence[str],
        health: Health,
        before: Sequence[Stage] = (),
        tls: TlsFiles | None = None,
        reflect: bool = False,
        reuse_port: bool = False,
        max_concurrent_rpcs: int | None = 2000,
        drain_delay: float = 1.0,
        grace: float = 15.0,
        min_ping_seconds: float = MIN_PING_SECONDS,
    ) -> None:
        self.port = 0
        self.health = health
        self._listen = listen
        self._tls = tls
        self._drain_delay = drain_delay
        self._grace = grace
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._started = False
        self._opened = False
        self._stopped = False
        self._callbacks: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        self._cut: Callable[[], None] = lambda: None
        self._gate = Gate(tuple(before) or (ErrorStage(),))
        self._handlers = LateHandlers()
        self._server = grpc.aio.server(
            interceptors=[self._gate],
            # Without it two servers would share a port unnoticed.
            options=(
                *OPTIONS,
                # The default of 5 min sends away clients with the keepalive that proxies need.
                ("grpc.http2.min_ping_interval_without_data_ms", round(min_ping_seconds * 1000)),
                ("grpc.so_reuseport", int(reuse_port)),
            ),
            maximum_concurrent_rpcs=max_concurrent_rpcs,
        )
        self._server.add_generic_rpc_handlers((self._handlers,))
        health_pb2_grpc.add_HealthServicer_to_server(health, self._server)
        if reflect:
            reflection.enable_server_reflection(
                (*services, _HEALTH_SERVICE, reflection.SERVICE_NAME), self._server
            )

    def on_stop(self, name: str, callback: Callable[[], Awaitable[None]]) -> None:
        """Run `callback` after the last call has ended; several run in the order they were added.

        Add background tasks first, then telemetry, then pools.
        """
        self._callbacks.append((name, callback))

    def on_cut(self, callback: Callable[[], None]) -> None:
        """Run `callback` when the calls under way have had their time, shortly before they are cut off.

        It ends them with a status that says why.
        """
        self._cut = callback

    async def start(self) -> None:
        """Bind and answer health, NOT_SERVING but for liveness; other calls are refused. Raises ServerError.

        Nothing happens when it was started before.
        """
        if self._started:
            return
        self._started = True
        try:
            if self._tls is not None:
                self.port = self._server.add_secure_port(self._listen, self._tls.credentials())
            else:
                self.port = self._server.add_insecure_port(self._listen)
        except RuntimeError as error:
            raise ServerError(
                f"cannot listen on {self._listen}: the address is in use or not this machine's"
            ) from error
        if self.port == 0:
            raise ServerError(f"cannot listen on {self._listen}: the address is in use or not this machine's")
        await self._server.start()
        _log.debug("%s answers health", self._listen)

    async def open(
        self,
        register: Callable[[LateHandlers], None],
        chain: grpc.aio.ServerInterceptor[Any, Any] | None = None,
        checks: Mapping[str, ReadinessCheck] | None = None,
    ) -> None:
        """Run the first health checks, and serve.

        register: adds the servicers. chain: what calls pass on their way there. checks: by name of the part.
        """
        register(self._handlers)
        self._gate.open(chain)
        self._opened = True
        await self.health.start(checks or {})
        _log.info(
            "listening on %s (port %d, %s)", self._listen, self.port, "TLS" if self._tls else "plaintext"
        )

    def request_stop(self) -> None:
        """Ask for an orderly stop; asking again cuts short what is still waited for."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    def handle_signals(self) -> None:
        """Turn SIGTERM and SIGINT into `request_stop`, from now on; a second signal hurries.

        Call it before lengthy preparations, so that a signal during those is not lost.
        """
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self.request_stop)

    async def serve(self) -> None:
        """Serve until a signal or `request_stop`, then stop."""
        self.handle_signals()
        try:
            await self._stopping.wait()
            await self.stop()
        finally:
            for number in _SIGNALS:
                asyncio.get_running_loop().remove_signal_handler(number)

    async def stop(self) -> None:
        """NOT_SERVING, wait for that to be noticed, let calls finish, run the callbacks."""
        if self._stopped:
            return
        self._stopped = True
        # A start that fails has a line of its own to say.
        level = logging.INFO if self._opened else logging.DEBUG
        _log.log(level, "stopping: no longer ready")
        self.health.drain()
        if self._opened:
            await self._patience(self._drain_delay)
        await self.health.close()
        # New calls are refused from here on; running ones have `grace` seconds.
        ending = asyncio.create_task(self._server.stop(self._grace))
        hurry = asyncio.create_task(self._hurry.wait())
        last_words = min(_LAST_WORDS, self._grace / 5)
        await asyncio.wait(
            {ending, hurry}, timeout=self._grace - last_words, return_when=asyncio.FIRST_COMPLETED
        )
        if not ending.done():
            self._cut()
            await asyncio.wait({ending}, timeout=last_words)
        if not ending.done():
            await self._server.stop(None)
        await ending
        hurry.cancel()
        for name, callback in self._callbacks:
            try:
                await callback()
            except Exception as error:  # noqa: BLE001 - one part's fault must not keep the others open
                _log.error("stopping %s failed: %s", name, describe_exception(error))
        _log.log(level, "stopped")

    async def _patience(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        except TimeoutError:
            return


def run(main: Coroutine[Any, Any, Result], *, use_uvloop: bool = False) -> Result:
    """Run the process's main coroutine, on uvloop if asked for. Raises ServerError without it."""
    factory = None
    if use_uvloop:
        try:
            import uvloop
        except ImportError as error:
            main.close()
            raise ServerError("uvloop is not installed; leave MUNIMENT_UVLOOP unset") from error
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
