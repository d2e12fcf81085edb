"""grpc.health.v1: readiness from checks, liveness from being there.

| Service name | SERVING while |
| --- | --- |
| `` (overall), `readiness`, every service of the contract | started, not stopping, and all checks pass |
| `liveness` | the process answers, start and stop included |

Any other name is NOT_FOUND (Check) or SERVICE_UNKNOWN (Watch), as the protocol asks. Needs neither a
credential nor a tenant. It is our own because a stop must end open watches: the stock servicer
keeps them, and the server would wait out its whole grace for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from muniment_server.telemetry.logs import describe_exception

_log = logging.getLogger("muniment.health")

LIVENESS: Final = "liveness"
READINESS: Final = "readiness"

ReadinessCheck = Callable[[], Awaitable[None]]
"""One readiness check: returns when the part answers, raises when it does not."""

_SERVING: Final = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING: Final = health_pb2.HealthCheckResponse.NOT_SERVING
_SERVICE_UNKNOWN: Final = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    """Health of this process. Not ready until it was told the checks and their first round has passed.

    interval: seconds between two rounds, at most 5. timeout: seconds after which a check counts as failed.
    """

    def __init__(self, services: Iterable[str], *, interval: float = 2.0, timeout: float = 3.0) -> None:
        self._checks: Mapping[str, ReadinessCheck] = {}
        self._ready_names = frozenset({"", READINESS, *services})
        self._interval = min(interval, 5.0)
        self._timeout = timeout
        self._ready = False
        self._stopping = False
        self._ended = False
        self._changed = asyncio.Event()
        self._failing: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether new calls can be served."""
        return self._ready and not self._stopping

    @property
    def failing(self) -> Mapping[str, str]:
        """The parts that fail, with the types of their errors."""
        return dict(self._failing)

    async def start(self, checks: Mapping[str, ReadinessCheck]) -> None:
        """Run the checks once, then keep running them.

        checks: by the name of the part (`database`, `embedder`, `key store`).
        """
        self._checks = dict(checks)
        await self.check_now()
        self._task = asyncio.create_task(self._poll(), name="health checks")

    async def check_now(self) -> bool:
        """One round of all checks, side by side; whether all passed."""
        names = list(self._checks)
        results = await asyncio.gather(*(self._run(self._checks[name]) for name in names))
        failing = {name: fault for name, fault in zip(names, results, strict=True) if fault is not None}
        for name in failing.keys() - self._failing.keys():
            _log.warning("not ready: %s fails: %s", name, failing[name])
        for name in self._failing.keys() - failing.keys():
            _log.info("%s answers again", name)
        self._failing = failing
        self._set_ready(not failing)
        return not failing

    def drain(self) -> None:
        """Answer NOT_SERVING for everything but liveness, from now on."""
        self._stopping = True
        self._notify()

    async def close(self) -> None:
        """End the checks and all open watches."""
        self._ended = True
        self._notify()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def Check(  # noqa: N802 - the name is the protocol's
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> health_pb2.HealthCheckResponse:
        """Current status of one service."""
        status = self._status(request.service)
        if status == _SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return health_pb2.HealthCheckResponse(status=status)

    async def Watch(  # noqa: N802 - the name is the protocol's
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Status of one service now and at every change, until the server stops."""
        last: health_pb2.HealthCheckResponse.ServingStatus | None = None
        while True:
            changed = self._changed
            status = self._status(request.service)
            if status != last:
                last = status
                yield health_pb2.HealthCheckResponse(status=status)
            if self._ended:
                return
            await changed.wait()

    def _status(self, service: str) -> health_pb2.HealthCheckResponse.ServingStatus:
        if service == LIVENESS:
            return _SERVING
        if service not in self._ready_names:
            return _SERVICE_UNKNOWN
        return _SERVING if self.ready else _NOT_SERVING

    def _set_ready(self, ready: bool) -> None:
        if ready != self._ready:
            self._ready = ready
            self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _run(self, check: ReadinessCheck) -> str | None:
        try:
            async with asyncio.timeout(self._timeout):
                await check()
        except Exception as error:  # noqa: BLE001 - whatever it raises, the part does not answer
            return describe_exception(error)
        return None

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self.check_now()
