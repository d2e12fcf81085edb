"""The conformance driver of the Python clients; tests/vectors/PROTOCOL.md says what it understands.

With --sync it drives the synchronous client.
"""

import asyncio
import base64
import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import grpc
from blocking import Blocking, settled
from google.protobuf import descriptor_pool, json_format
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from messages import to_json
from methods import PAGED, REQUESTS, UNARY, owner, recall, stream_ingest
from opentelemetry import trace
from opentelemetry.propagate import extract
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import muniment
from muniment._settings import Metadata
from muniment._status import DOMAIN, to_error

SYNC = "--sync" in sys.argv
THREADS = 80
"""More than the calls that `bench` makes at a time."""
EXPORTER = InMemorySpanExporter()
STREAMED = {"ExportAudit": "AuditService", "ExportMemories": "SubjectService"}


class DriverError(Exception):
    """A request that this driver cannot carry out."""


class Driver:
    """Clients by name, and what to do with them."""

    def __init__(self) -> None:
        # Of the synchronous client what has the same surface.
        self.clients: dict[str, Any] = {}

    async def answer(self, line: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        try:
            handler = getattr(self, f"op_{line.get('op')}", None)
            if handler is None:
                raise DriverError(f"unknown op {line.get('op')!r}")
            return {"id": line["id"], "ok": True, **(await handler(line) or {})}
        except muniment.MunimentError as error:
            return {"id": line["id"], "ok": False, "error": told(error)}
        except (ValueError, TypeError) as error:
            problem = {**told(muniment.InvalidRequest(str(error))), "local": True}
            return {"id": line["id"], "ok": False, "error": problem}
        except asyncio.CancelledError:
            return {"id": line["id"], "ok": False, "error": told(muniment.Cancelled("cancelled"))}
        except Exception as error:  # noqa: BLE001 - told to the runner
            problem = {"code": "DRIVER", "reason": "", "message": f"{type(error).__name__}: {error}"}
            return {"id": line["id"], "ok": False, "error": problem}

    def client(self, line: dict[str, Any]) -> Any:
        """The client that a request names."""
        try:
            return self.clients[line.get("client", "main")]
        except KeyError:
            raise DriverError("no such client") from None

    async def op_hello(self, _line: dict[str, Any]) -> dict[str, Any]:
        """Who this is."""
        return {
            "language": "python-sync" if SYNC else "python",
            "version": muniment.__version__,
            "protocol": 1,
        }

    async def op_connect(self, line: dict[str, Any]) -> None:
        """Make a client."""
        name = line.get("client", "main")
        if name in self.clients:
            await self.clients.pop(name).close()
        if line.get("trace") and not isinstance(trace.get_tracer_provider(), TracerProvider):
            provider = TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
            trace.set_tracer_provider(provider)
        tls = line.get("tls")
        made: Any = (muniment.connect_sync if SYNC else muniment.connect)(
            line["target"],
            tenant=line["tenant"],
            api_key=line["api_key"],
            insecure=bool(line.get("insecure")),
            tls=muniment.TLS(
                root_certificates=tls.get("ca"),
                certificate=tls.get("certificate"),
                private_key=tls.get("key"),
                server_name=tls.get("server_name"),
            )
            if tls
            else None,
            read_your_writes=line.get("consistency", "held") == "held",
        )
        override = line.get("metadata_override")
        if override:
            calls: Any = made._calls
            original = calls._metadata
            dropped = {key for key, _ in override}
            added = [(key, value) for key, value in override if value is not None]

            def overridden(given: Any) -> Metadata:
                if any(not (value.isascii() and value.isprintable()) for _, value in added):
                    # What gRPC cannot carry.
                    raise muniment.InvalidRequest("metadata must be printable ASCII")
                return Metadata([*(pair for pair in given if pair[0] not in dropped), *added])

            async def metadata(*arguments: Any) -> Metadata:
                return overridden(await original(*arguments))

            calls._metadata = (lambda *each: overridden(original(*each))) if SYNC else metadata
        self.clients[name] = Blocking(made) if SYNC else made

    async def op_call(self, line: dict[str, Any]) -> dict[str, Any]:
        """One call by the client's own method, or by the stub."""
        parent = line.get("trace_parent")
        scope = (
            trace.use_span(trace.get_current_span(extract({"traceparent": parent})))
            if parent
            else nullcontext()
        )
        with scope:
            call = self._raw(line) if line.get("raw") else self._call(line)
            if line.get("cancel_after_ms") is None:
                return {"response": await call}
            task = asyncio.ensure_future(call)
            done, _ = await asyncio.wait([task], timeout=line["cancel_after_ms"] / 1000)
            if not done:
                task.cancel()
            return {"response": await task}

    async def _call(self, line: dict[str, Any]) -> Any:
        client, method = self.client(line), line["method"].partition("/")[2]
        timeout = line["timeout_ms"] / 1000 if line.get("timeout_ms") is not None else None
        if method not in REQUESTS:
            raise DriverError(f"unknown method {line['method']}")
        if method == "StreamIngest":
            requests = [parsed(method, each) for each in line["stream"]]
            return to_json(await stream_ingest(client, requests, timeout), response(method))
        request = parsed(method, line.get("request") or {})
        if method in PAGED:
            field, pages = PAGED[method]
            listed = pages(client, request, timeout)
            if not line.get("all_pages"):
                async for page in listed.pages():
                    made = response(method)
                    made.next_page_token = page.next_page_token
                    return to_json({field: page.items, "next_page_token": page.next_page_token}, made)
            items: list[Any] = []
            async for each in listed:
                if len(items) == line.get("take"):
                    break
                items.append(to_json({field: [each]}, response(method))[field][0])
            return items
        if method in STREAMED:
            return await self._streamed(client, method, request, timeout, line.get("take"))
        return to_json(await UNARY[method](client, request, timeout), response(method))

    async def _streamed(
        self, client: Any, method: str, request: Any, timeout: float | None, take: int | None
    ) -> list[Any]:
        # The client gives parts of messages; as many messages of one part each say the same.
        parts: list[Any] = []
        if method == "ExportAudit":
            exported: Any = client.export_audit(
                from_sequence=request.from_sequence if request.HasField("from_sequence") else None,
                to_sequence=request.to_sequence if request.HasField("to_sequence") else None,
                timeout=timeout,
            )
        else:
            exported = client.export_memories(
                **owner(request.scope),
                states=tuple(map(muniment.MemoryState, request.states)),
                timeout=timeout,
            )
        fields = {
            muniment.ExportHeader: "header",
            muniment.AuditCheckpoint: "checkpoint",
            muniment.ExportTrailer: "trailer",
        }
        async for part in exported:
            if len(parts) == take:
                break
            if isinstance(part, muniment.MemoryRecord):
                parts.append(to_json({"records": [part]}, response(method)))
            elif isinstance(part, muniment.ExportedEvent):
                parts.append(to_json({"events": {"events": [part]}}, response(method)))
            else:
                parts.append(to_json({fields[type(part)]: part}, response(method)))
        return parts

    async def _raw(self, line: dict[str, Any]) -> Any:
        client, (service, _, method) = self.client(line), line["method"].partition("/")
        calls: Any = client._calls
        stub = getattr(getattr(calls, service.removesuffix("Service").lower()), method)
        metadata = await settled(calls._metadata(Bare(), time.monotonic() + 60))
        options: dict[str, Any] = {"metadata": metadata}
        if line.get("timeout_ms") is not None:
            options["timeout"] = line["timeout_ms"] / 1000
        try:
            if SYNC:
                given: Any = (
                    iter([parsed(method, each) for each in line["stream"]])
                    if method == "StreamIngest"
                    else parsed(method, line.get("request") or {})
                )
                answered = await asyncio.to_thread(stub, given, **options)
                if method in STREAMED:
                    return await asyncio.to_thread(
                        lambda: [json_format.MessageToDict(each) for each in answered]
                    )
                return json_format.MessageToDict(answered)
            if method == "StreamIngest":
                requests = [parsed(method, each) for each in line["stream"]]

                async def stream() -> Any:
                    for each in requests:
                        yield each

                return json_format.MessageToDict(await stub(stream(), **options))
            request = parsed(method, line.get("request") or {})
            if method in STREAMED:
                return [json_format.MessageToDict(each) async for each in stub(request, **options)]
            return json_format.MessageToDict(await stub(request, **options))
        except grpc.RpcError as error:
            raise to_error(error) from error

    async def op_model_call(self, line: dict[str, Any]) -> dict[str, Any]:
        """Recall, and the helper for model calls around nothing."""
        client = self.client(line)
        request = parsed("Recall", line["request"])
        tracer = trace.get_tracer("driver")
        parent = extract({"traceparent": line["trace_parent"]}) if line.get("trace_parent") else None
        with tracer.start_as_current_span("chat", context=parent) as span:
            recalled = await client.recall(request.query, **recall(request))
            call = client.model_call(
                recalled,
                memories=line.get("used"),
                outcome=line.get("outcome", "").removeprefix("USE_OUTCOME_") or None,
                model=line.get("model", ""),
                prompt_ref=line.get("prompt_ref", ""),
                span=span if span.is_recording() else None,
            )
            reported = True
            try:
                async with call:
                    if line.get("fail"):
                        raise RuntimeError("as told")
            except RuntimeError:
                reported = False
        return {
            "response": {
                "recallId": recalled.recall_id,
                "memoryIds": list(call.memory_ids) if reported else [],
                "reported": reported and call.report_error is None,
            }
        }

    async def op_token(self, line: dict[str, Any]) -> dict[str, Any]:
        """The token that the client holds."""
        token = self.client(line).consistency_token
        return {"response": {"token": token.token if token else None}}

    async def op_spans(self, _line: dict[str, Any]) -> dict[str, Any]:
        """The spans finished since the last time."""
        spans = [described(span) for span in EXPORTER.get_finished_spans()]
        EXPORTER.clear()
        return {"response": spans}

    async def op_echo(self, line: dict[str, Any]) -> dict[str, Any]:
        """A message there and back."""
        pool = descriptor_pool.Default()
        message = GetMessageClass(pool.FindMessageTypeByName(line["message_type"]))()
        try:
            if "json" in line:
                json_format.ParseDict(line["json"], message)
            else:
                message.ParseFromString(base64.b64decode(line["binary_base64"]))
        except (json_format.ParseError, DecodeError) as error:
            raise muniment.InvalidRequest("no such message") from error
        binary = base64.b64encode(message.SerializeToString()).decode()
        return {"response": json_format.MessageToDict(message), "binary_base64": binary}

    async def op_bench(self, line: dict[str, Any]) -> dict[str, Any]:
        """Measure calls of the client, and of the stub beside it."""
        client, method = self.client(line), line["method"].partition("/")[2]
        service = line["method"].partition("/")[0].removesuffix("Service").lower()
        calls: Any = client._calls
        request = parsed(method, line["request"])
        stub = getattr(getattr(calls, service), method)
        metadata = await settled(calls._metadata(Bare(), time.monotonic() + 60))
        called: Any = client.blocking if SYNC else client
        kinds: dict[str, Any] = {"layer": lambda: UNARY[method](called, request, None)}
        if line.get("compare"):
            kinds["raw"] = lambda: stub(request, metadata=metadata)
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        errors = dict.fromkeys(kinds, 0)

        async def once(kind: str) -> None:
            if SYNC:
                await asyncio.to_thread(blocking, kind)
                return
            began = time.perf_counter()
            try:
                await kinds[kind]()
            except (muniment.MunimentError, grpc.RpcError):
                errors[kind] += 1
            times[kind].append(time.perf_counter() - began)

        def blocking(kind: str) -> None:
            # The thread is there already: the change to it is not the client's.
            began = time.perf_counter()
            try:
                kinds[kind]()
            except (muniment.MunimentError, grpc.RpcError):
                errors[kind] += 1
            times[kind].append(time.perf_counter() - began)

        for _ in range(line.get("warmup", 20)):
            for kind in kinds:
                await once(kind)
        for kind in kinds:
            times[kind].clear()
        seconds = dict.fromkeys(kinds, 0.0)
        width = line.get("concurrency", 1)
        for _ in range(math.ceil(line["count"] / width)):
            for kind in kinds:
                began = time.perf_counter()
                await asyncio.gather(*(once(kind) for _ in range(width)))
                seconds[kind] += time.perf_counter() - began
        return {"response": {kind: figures(times[kind], errors[kind], seconds[kind]) for kind in kinds}}


class Bare:
    """Stands for the span of a call where there is none."""

    def headers(self) -> list[tuple[str, str]]:
        """No trace context."""
        return []


def figures(times: list[float], errors: int, seconds: float) -> dict[str, Any]:
    """Figures of one series."""
    ordered = sorted(times)

    def share(part: float) -> float:
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] * 1e6

    return {
        "calls": len(times),
        "errors": errors,
        "seconds": seconds,
        "per_second": len(times) / seconds,
        "p50_us": share(0.5),
        "p90_us": share(0.9),
        "p99_us": share(0.99),
    }


def parsed(method: str, request: dict[str, Any]) -> Any:
    """The request message of a method."""
    if method not in REQUESTS:
        raise DriverError(f"unknown method {method}")
    message: Message = getattr(REQUESTS[method], f"{method}Request")()
    try:
        return json_format.ParseDict(request, message)
    except json_format.ParseError as error:
        raise DriverError(f"no {method}Request: {error}") from error


def response(method: str) -> Any:
    """An empty response message of a method."""
    return getattr(REQUESTS[method], f"{method}Response")()


def told(error: muniment.MunimentError) -> dict[str, Any]:
    """An error as the protocol tells it."""
    wait = error.retry_after
    return {
        "code": error.code,
        "reason": error.reason,
        "domain": DOMAIN if error.reason else "",
        "metadata": dict(error.metadata),
        "violations": [{"field": each.field, "rule": each.rule} for each in error.field_violations],
        "retry_after_ms": None if wait is None else round(wait.total_seconds() * 1000),
        "message": error.message,
        "local": not isinstance(error.__cause__, grpc.RpcError),
    }


def described(span: Any) -> dict[str, Any]:
    """A span as the protocol tells it."""
    return {
        "name": span.name,
        "kind": span.kind.name,
        "trace_id": trace.format_trace_id(span.context.trace_id),
        "span_id": trace.format_span_id(span.context.span_id),
        "parent_span_id": trace.format_span_id(span.parent.span_id) if span.parent else None,
        "status": span.status.status_code.name,
        "attributes": dict(span.attributes or {}),
        "links": [
            {
                "trace_id": trace.format_trace_id(link.context.trace_id),
                "span_id": trace.format_span_id(link.context.span_id),
                "attributes": dict(link.attributes or {}),
            }
            for link in span.links
        ],
    }


async def main() -> None:
    """Carry out the lines of stdin."""
    driver = Driver()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS))
    pending: set[asyncio.Task[None]] = set()

    def say(answer: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    async def carry_out(line: dict[str, Any]) -> None:
        say(await driver.answer(line))

    while text := await loop.run_in_executor(None, sys.stdin.readline):
        line = json.loads(text)
        if line.get("op") == "connect":
            await carry_out(line)
        elif line.get("op") == "close":
            if pending:
                await asyncio.wait(pending, timeout=10)
            for client in driver.clients.values():
                await client.close()
            say({"id": line["id"], "ok": True})
            return
        else:
            task = asyncio.create_task(carry_out(line))
            pending.add(task)
            task.add_done_callback(pending.discard)


if __name__ == "__main__":
    asyncio.run(main())
