"""Plays scenarios: what a driver answers, and what the store holds afterwards.

A scenario is a YAML document with `name` and `steps` (and `layer`, where it needs what the clients add,
`new`, where it needs what the previous contract did not have, `needs`, where it needs an ability that not
every driver has). Every language has a tenant of its own, every scenario a subject of its own (${subject}),
so that all may be played on one service. Steps, each with one of:

- `call`: Service/Method, with `request` (or `stream`) and the options of PROTOCOL.md; then `expect` (a part
  of the response) or `error` (a part of the error). `background`: a name; the answer is not waited for, but
  judged by the step `join` of that name.
- `connect`: name of a further client, with options of PROTOCOL.md; `key`: the permissions of its credential
  and what else it is bound to; `to`: `peer`, or the service by `tls` or `mtls`; `error`: what is refused
  before anything is sent.
- `model_call`, `echo`, `token`: those of PROTOCOL.md.
- `store`: a query, with ${tenant_id} and others filled in; `rows`: what it must return.
- `spans`: `of`: a trace id; `names`: the server's spans that must be in it.
- `driver_spans`: spans that the client must have recorded since the last time (a `$has`).
- `hold`: a statement that a second connection runs and holds; `waiting`: until a statement of the service
  waits for it; `idle`: until none does any more; `release`.
- `peer`: `plan`: what comes of the next calls (see peer.py); `attempts`: how many must have arrived;
  `arrived`: wait for so many; `same_request_id`; `last_request`: a part of it; `renew`: another peer;
  `restart`; `goaway`, `let_go` and `back` take that apart: it says GOAWAY, answers what it holds, and is
  there again.
"""

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import yaml
from google.protobuf import json_format
from psycopg.rows import dict_row

from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.principal import Permission
from support.service import RunningService
from support.telemetry import Recorded

from .drivers import Driver
from .matching import MismatchError, Values, check
from .peer import Peer, request_type
from .tls import Encrypted

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SCENARIOS = Path(__file__).parent / "scenarios"
_OPTIONS = (
    "client", "timeout_ms", "cancel_after_ms", "all_pages", "take", "raw", "trace_parent", "stream", "used",
    "model", "prompt_ref", "outcome", "fail",
)  # fmt: skip


@cache
def scenarios() -> Mapping[str, dict[str, Any]]:
    """All scenarios by their names, `file/name`."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(SCENARIOS.glob("*.yaml")):
        for scenario in yaml.load_all(path.read_text("utf-8"), _LOADER):
            name = f"{path.stem}/{scenario['name']}"
            assert name not in found, name
            found[name] = scenario
    return found


class Player:
    """Plays on one service with one driver."""

    def __init__(
        self, running: RunningService, driver: Driver, recorded: Recorded, peer: Peer, encrypted: Encrypted
    ) -> None:
        self.running = running
        self.driver = driver
        self.recorded = recorded
        self.peer = peer
        self.encrypted = encrypted
        self.tenant = f"conf-{driver.recipe.language}"
        self.key = running.caller(self.tenant).key
        self.foreign_key = running.caller("conf-foreign").key
        self._held: psycopg.Connection[Any] | None = None
        self._background: dict[str, asyncio.Task[dict[str, Any]]] = {}

    async def warm_up(self) -> None:
        """Make a first call, which may take its time: some runtimes load half of themselves for it."""
        await self._connect({}, Values(subject="", tenant=self.tenant), client="main")
        request = {"scope": {"subject": "nobody"}}
        line = {
            "op": "call",
            "method": "MemoryService/ListMemories",
            "request": request,
            "timeout_ms": 60_000,
        }
        answer = await self.driver.ask(line, timeout=90)
        assert answer["ok"], answer

    async def play(self, name: str, scenario: Mapping[str, Any]) -> None:
        """Play one scenario. Raises MismatchError with the step that did not hold."""
        subject = f"{name}#{uuid4().hex[:8]}"
        values = Values(
            subject=subject,
            tenant=self.tenant,
            tenant_id=str(self.running.tenant_id(self.tenant)),
            scope_id="",
            **self.encrypted.values,
        )
        await self._connect({}, values, client="main")
        if any("peer" in step for step in scenario["steps"]):
            await self.peer.renew()
        try:
            for number, step in enumerate(scenario["steps"], 1):
                try:
                    await self._step(step, values)
                except (MismatchError, KeyError, TimeoutError, json_format.Error) as error:
                    shown = json.dumps(step, ensure_ascii=False)[:300]
                    raise MismatchError(f"step {number} {shown}\n{type(error).__name__}: {error}") from error
        finally:
            self._release()
            for task in self._background.values():
                task.cancel()
            self._background.clear()

    async def _step(self, step: Mapping[str, Any], values: Values) -> None:
        for kind in ("call", "join", "model_call", "echo", "token", "connect"):
            if kind in step:
                await getattr(self, f"_{kind}")(step, values)
                return
        if "store" in step:
            query = values.fill(step["store"])
            check(values.fill(step["rows"]), await self._rows(query), values, "store")
        elif "spans" in step:
            await self._spans(step, values)
        elif "driver_spans" in step:
            answer = await self.driver.ask({"op": "spans"})
            check(values.fill(step["driver_spans"]), answer["response"], values, "spans")
        elif "hold" in step:
            self._held = psycopg.connect(self.running.database.superuser_conninfo)
            self._held.execute("SET search_path = muniment, public")
            self._held.execute(values.fill(step["hold"]))
        elif "waiting" in step:
            await self._until_waiting(True)
        elif "idle" in step:
            await self._until_waiting(False)
        elif "release" in step:
            self._release()
        elif "peer" in step:
            await self._peer(step["peer"], values)
        else:
            raise ValueError(f"what is {step}?")

    async def _call(self, step: Mapping[str, Any], values: Values) -> None:
        line = {"op": "call", "method": step["call"], **self._options(step, values)}
        if "stream" not in step:
            line["request"] = values.fill(step.get("request", {}))
        if "background" in step:
            self._background[step["background"]] = asyncio.create_task(self.driver.ask(line))
            return
        self._judge(step, await self.driver.ask(line), values)

    async def _join(self, step: Mapping[str, Any], values: Values) -> None:
        self._judge(step, await self._background.pop(step["join"]), values)

    async def _model_call(self, step: Mapping[str, Any], values: Values) -> None:
        line = {"op": "model_call", "request": values.fill(step["model_call"])}
        self._judge(step, await self.driver.ask({**line, **self._options(step, values)}), values)

    async def _echo(self, step: Mapping[str, Any], values: Values) -> None:
        line = {"op": "echo", "message_type": step["echo"]}
        line |= {name: values.fill(step[name]) for name in ("json", "binary_base64") if name in step}
        answer = await self.driver.ask(line)
        self._judge(step, answer, values)
        if "binary" in step:
            check(step["binary"], answer.get("binary_base64"), values, "binary")

    async def _token(self, step: Mapping[str, Any], values: Values) -> None:
        line = {"op": "token", **self._options(step, values)}
        self._judge({"expect": {"token": step["token"]}}, await self.driver.ask(line), values)

    async def _connect(self, step: Mapping[str, Any], values: Values, client: str | None = None) -> None:
        line: dict[str, Any] = {
            "op": "connect",
            "client": client or step["connect"],
            "target": f"127.0.0.1:{self._port(step.get('to'))}",
            "api_key": self._key(step, values),
            "tenant": values.fill(step.get("tenant", self.tenant)),
            "insecure": "tls" not in step,
            "trace": True,
        }
        for name in ("consistency", "metadata_override", "tls"):
            if name in step:
                line[name] = values.fill(step[name])
        self._judge(step if "error" in step else {}, await self.driver.ask(line), values)

    def _port(self, to: str | None) -> int:
        if to == "peer":
            return self.peer.port
        return self.encrypted.ports[to] if to else self.running.port

    def _key(self, step: Mapping[str, Any], values: Values) -> str:
        wanted = step.get("key")
        if wanted is None:
            return self.key
        if wanted == "foreign":
            return self.foreign_key
        if isinstance(wanted, str):
            return str(values.fill(wanted))
        made = self.running.caller(
            self.tenant,
            permissions=tuple(
                map(Permission, wanted.get("permissions", [each.value for each in Permission]))
            ),
            source_types=tuple(
                SourceType[each] for each in wanted.get("source_types", SourceType.__members__)
            ),
            max_trust=TrustLevel[wanted.get("max_trust", "CONFIRMED")],
            subject=values.fill(wanted.get("subject")),
            agent=wanted.get("agent"),
        )
        return made.key

    @staticmethod
    def _options(step: Mapping[str, Any], values: Values) -> dict[str, Any]:
        return {name: values.fill(step[name]) for name in _OPTIONS if name in step}

    @staticmethod
    def _judge(step: Mapping[str, Any], answer: Mapping[str, Any], values: Values) -> None:
        if not answer["ok"] and answer["error"].get("code") == "DRIVER":
            raise MismatchError(f"the driver failed: {answer['error']}")
        if "error" in step:
            if answer["ok"]:
                raise MismatchError(f"expected the error {step['error']}, not {answer.get('response')}")
            check(values.fill(step["error"]), answer["error"], values, "error")
        elif not answer["ok"]:
            raise MismatchError(f"failed: {answer['error']}")
        else:
            check(values.fill(step.get("expect", {})), answer.get("response", {}), values)

    async def _rows(self, query: str) -> list[dict[str, Any]]:
        async with await psycopg.AsyncConnection.connect(
            self.running.database.superuser_conninfo, row_factory=dict_row
        ) as connection:
            await connection.execute("SET search_path = muniment, public")
            rows = await (await connection.execute(query)).fetchall()
            return [dict(row) for row in rows]

    async def _spans(self, step: Mapping[str, Any], values: Values) -> None:
        trace_id = values.fill(step["spans"]["of"])
        wanted = set(step["spans"]["names"])
        for _ in range(50):
            names = {
                each.name
                for each in self.recorded.spans()
                if each.context is not None and f"{each.context.trace_id:032x}" == trace_id
            }
            if wanted <= names:
                return
            # A span is exported when its call is over, which is a moment after the answer.
            await asyncio.sleep(0.05)
        raise MismatchError(f"of {wanted} only {names} were exported in the trace {trace_id}")

    async def _until_waiting(self, wanted: bool) -> None:
        """Until a statement of the service waits for the connection that holds, or until none does."""
        assert self._held is not None, "nothing is held"
        holder = self._held.info.backend_pid
        query = f"SELECT count(*) AS n FROM pg_stat_activity WHERE {holder} = ANY(pg_blocking_pids(pid))"
        for _ in range(100):
            if ((await self._rows(query))[0]["n"] > 0) is wanted:
                return
            await asyncio.sleep(0.05)
        raise MismatchError(f"a statement of the service {'does not wait' if wanted else 'still waits'}")

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    async def _peer(self, step: Mapping[str, Any], values: Values) -> None:
        if "arrived" in step:
            await self.peer.arrived(step["arrived"])
        if step.get("goaway"):
            self.peer.goaway()
        if step.get("let_go"):
            self.peer.let_go()
        if step.get("restart") or step.get("back"):
            await self.peer.restart()
        if step.get("renew"):
            await self.peer.renew()
        if "plan" in step:
            self.peer.plan = values.fill(step["plan"])
            self.peer.received.clear()
        if "attempts" in step:
            check(step["attempts"], len(self.peer.received), values, "attempts")
        if "last_request" in step:
            method, raw, _ = self.peer.received[-1]
            request = request_type(method).FromString(raw)
            check(values.fill(step["last_request"]), json_format.MessageToDict(request), values, "request")
        if step.get("same_request_id"):
            ids = {request_type(method).FromString(raw).request_id for method, raw, _ in self.peer.received}
            if len(ids) != 1 or "" in ids:
                raise MismatchError(f"request ids of the attempts: {ids}")
