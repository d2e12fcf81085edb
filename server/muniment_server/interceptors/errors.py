"""Second stage: every failure becomes a status of the contract, and nothing else leaves.

What a handler raises is either a MunimentError, or something the given translation knows, or
unforeseen; the last is answered with a fixed INTERNAL text and logged under the call's trace id
without its own text, which may quote content.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final

import grpc

from muniment_server.api.status import abort_with_status
from muniment_server.domain.errors import DeadlineExceeded, Internal, MunimentError, ShuttingDown
from muniment_server.identity.principal import CallContext, Principal
from muniment_server.interceptors.call import REQUEST_ID_KEY, Call
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.logs import describe_exception

_log = logging.getLogger("muniment.rpc")

Translation = Callable[[BaseException], MunimentError | None]
"""Maps an exception of a driver to an error of the contract, or answers None."""

REPORTED_CODES: Final = frozenset(
    {
        "UNAUTHENTICATED",
        "PERMISSION_DENIED",
        "NOT_FOUND",
        "FAILED_PRECONDITION",
        "ABORTED",
        "ALREADY_EXISTS",
        "OUT_OF_RANGE",
        "DATA_LOSS",
    }
)
"""Failures that are reported to the audit: those that say something about an attempt. Malformed
requests say nothing, and reporting overload or an outage would only feed it."""


@dataclass(frozen=True, slots=True)
class DeniedCall:
    """A call that was refused, with as much of its identity as was verified before.

    context: the full identity, once credential and tenant were accepted. principal: the verified
    credential, also where the tenant was refused. tenant_name: a well-formed name that the caller
    claimed; with `context` None it proves nothing.
    """

    method: str
    error: MunimentError
    request_id: str
    trace_id: str
    span_id: str
    context: CallContext | None
    principal: Principal | None
    tenant_name: str | None


OnDenied = Callable[[DeniedCall], Awaitable[None]]


class ErrorStage:
    """Maps failures to statuses and reports denials.

    on_denied is awaited before the answer, for `report_timeout` seconds at most and by at most
    `report_limit` calls at once; what does not fit is counted and logged, not queued.
    """

    name = "error mapping"

    def __init__(
        self,
        translate: Translation | None = None,
        on_denied: OnDenied | None = None,
        *,
        report_timeout: float = 1.0,
        report_limit: int = 16,
    ) -> None:
        self._translate = translate
        self._on_denied = on_denied
        self._report_timeout = report_timeout
        self._report_limit = report_limit
        self._reports: set[asyncio.Task[None]] = set()
        self._running: set[asyncio.Task[object]] = set()
        self._cut: set[asyncio.Task[object]] = set()
        self._closed = False

    def cut(self) -> None:
        """End the calls under way, and those that may still come, with SHUTTING_DOWN: the server stops."""
        self._closed = True
        for task in self._running:
            self._cut.add(task)
            task.cancel()

    async def __call__(self, call: Call) -> object:
        task = asyncio.current_task()
        try:
            if self._closed:
                raise ShuttingDown
            if task is not None:
                self._running.add(task)
            return await call.proceed()
        except grpc.aio.AbortError:
            raise
        except asyncio.CancelledError as error:
            ours = task is not None and task in self._cut
            if ours and task is not None and task.uncancel() == 0 and not call.gone:
                failure: MunimentError = ShuttingDown()
            elif ours or task is None or task.cancelling() or call.gone:
                raise
            else:
                # Not this call was cancelled but something inside it; without a status the client
                # would wait until its deadline.
                failure = self._unforeseen(call, error)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - nothing may leave unmapped
            failure = self._map(call, error)
        finally:
            if task is not None:
                self._running.discard(task)
                self._cut.discard(task)
        call.error = failure
        if self._on_denied is not None and failure.code in REPORTED_CODES:
            await self._report(call, failure, self._on_denied)
        await abort_with_status(
            call.context, failure, trace_id=call.trace_id, trailers=((REQUEST_ID_KEY, call.request_id),)
        )
        raise AssertionError("abort returned")

    def _map(self, call: Call, error: BaseException) -> MunimentError:
        for leaf in _leaves(error):
            if isinstance(leaf, MunimentError):
                if isinstance(leaf, Internal):
                    return self._unforeseen(call, error)
                return leaf
            if self._translate is not None:
                known = self._translate(leaf)
                if known is not None:
                    _log.info(
                        "%s: %s",
                        known.reason,
                        describe_exception(leaf),
                        extra={"method": call.method, "reason": known.reason, "request_id": call.request_id},
                    )
                    return known
        if isinstance(error, TimeoutError) and call.remaining() <= 0.0:
            return DeadlineExceeded()
        return self._unforeseen(call, error)

    def _unforeseen(self, call: Call, error: BaseException) -> Internal:
        _log.error(
            "call failed: %s",
            describe_exception(error),
            extra={"method": call.method, "reason": Internal.reason, "request_id": call.request_id},
        )
        return error if isinstance(error, Internal) else Internal()

    async def _report(self, call: Call, error: MunimentError, on_denied: OnDenied) -> None:
        if len(self._reports) >= self._report_limit:
            self._unreported(call, "too many reports under way")
            return
        denied = DeniedCall(
            method=call.method,
            error=error,
            request_id=call.request_id,
            trace_id=call.trace_id,
            span_id=call.span_id,
            context=call.identity,
            principal=call.principal,
            tenant_name=call.tenant_name,
        )
        task = asyncio.create_task(self._bounded(call, on_denied, denied))
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)
        # Shielded, so that hanging up after a refusal does not undo the report of it.
        await asyncio.shield(task)

    async def _bounded(self, call: Call, on_denied: OnDenied, denied: DeniedCall) -> None:
        try:
            async with asyncio.timeout(self._report_timeout):
                await on_denied(denied)
        except Exception as error:  # noqa: BLE001 - a report is best effort
            self._unreported(call, describe_exception(error))

    def _unreported(self, call: Call, why: str) -> None:
        metrics().denied_unreported()
        _log.warning(
            "denied call not reported to the audit: %s",
            why,
            extra={"method": call.method, "request_id": call.request_id},
        )

    async def drain(self) -> None:
        """Wait for reports under way, before storage is closed."""
        if self._reports:
            await asyncio.wait(self._reports, timeout=self._report_timeout)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The error itself, or what a group of errors holds."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
