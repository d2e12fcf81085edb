"""`muniment why`: which memories stood in which prompt, for whom, and why those."""

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from .output import CommandError, Json, count_of, print_json, time_text
from .reasons import BASIS, basis_lines, evidence_text, in_force, print_reasons
from .remote import DEFAULT_TARGET, CaFile, Remote, Target, Tenant, Tls, remote
from .wording import actor, actor_text, instant, scope, scope_text, shown, summary, word

if TYPE_CHECKING:
    from muniment_server._gen.muniment.v1 import audit_pb2, recall_pb2, write_pb2

_TRACE = re.compile(r"[0-9a-f]{32}")
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_MOST_EVENTS = 1_000
_PARALLEL = 8


def why(
    reference: Annotated[
        str, typer.Argument(help="A trace id (32 hex digits), a traceparent, or a recall id (a UUID).")
    ],
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    fate: Annotated[
        bool, typer.Option("--fate/--no-fate", help="Look up what became of each memory since.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Explain a recall: who asked, what was offered in which version, why, what was left out, what was used.

    Takes an API key with the permission audit from MUNIMENT_API_KEY.
    """
    trace_id, recall_id = _parse(reference)
    with remote(target, tenant, tls, ca_file) as server:
        events = _events(server, trace_id=trace_id) if trace_id else []
        recall_ids = [recall_id] if recall_id else _recalls(events)
        recalls = [_recall(server, each, fate=fate) for each in recall_ids]
    if as_json:
        print_json(
            {
                "tenant": tenant,
                "trace_id": trace_id,
                "events": [_event(each) for each in events],
                "recalls": recalls,
            }
        )
        return
    if not recalls and not events:
        raise CommandError("No recall and no other event of this trace is in the tenant's trail.")
    _print(trace_id, events, recalls)


def _parse(reference: str) -> tuple[str | None, str | None]:
    """Trace id or recall id."""
    text = reference.strip().lower()
    whole = _TRACEPARENT.fullmatch(text)
    if whole is not None:
        return whole[1], None
    if _TRACE.fullmatch(text):
        return text, None
    try:
        return None, str(UUID(text))
    except ValueError:
        raise CommandError(
            "Name a trace id (32 hexadecimal digits), a traceparent, or a recall id (a UUID)."
        ) from None


# --- asking -------------------------------------------------------------------------------------------


def _events(server: Remote, *, size: int = _MOST_EVENTS, **restriction: Any) -> "list[audit_pb2.AuditEvent]":
    from muniment_server._gen.muniment.v1 import audit_pb2, memory_service_pb2

    request = memory_service_pb2.AuditRequest(filter=audit_pb2.AuditFilter(**restriction), page_size=size)
    return list(server.memory.Audit(request, **server.options).events)


def _recalls(events: "Iterable[audit_pb2.AuditEvent]") -> list[str]:
    """The recalls among events, oldest first."""
    found = [each.memories_recalled.recall_id for each in events if each.HasField("memories_recalled")]
    return found[::-1]


def _recall(server: Remote, recall_id: str, *, fate: bool) -> dict[str, Any]:
    from muniment_server._gen.muniment.v1 import audit_pb2

    receipt = server.audit.GetRecall(
        audit_pb2.GetRecallRequest(recall_id=recall_id), **server.options
    ).receipt
    events = _events(server, recall_id=recall_id, actions=[audit_pb2.AUDIT_ACTION_RECALL], size=1)
    made = _receipt(receipt, events[0].scope_id if events else "")
    if fate:
        since = instant(receipt.recall_time)
        with ThreadPoolExecutor(_PARALLEL) as pool:
            fates = pool.map(lambda one: _fate(server, one, since), receipt.recalled.memories)
            for memory, found in zip(made["memories"], fates, strict=True):
                memory["since"] = found
    return made


def _fate(server: Remote, memory: "audit_pb2.RecalledMemory", since: datetime) -> dict[str, Any]:
    """What became of a memory after a recall offered it, as far as the trail tells."""
    from muniment_server._gen.muniment.v1 import audit_pb2, filter_pb2

    after = filter_pb2.TimeRange()
    after.start_time.FromDatetime(since)
    events = _events(
        server,
        memory_id=memory.memory_id,
        actions=[
            audit_pb2.AUDIT_ACTION_WRITE,
            audit_pb2.AUDIT_ACTION_SUPERSEDE,
            audit_pb2.AUDIT_ACTION_ERASE,
            audit_pb2.AUDIT_ACTION_RESTORE,
        ],
        outcomes=[audit_pb2.AUDIT_OUTCOME_OK],
        event_time=after,
        size=100,
    )
    fate: dict[str, Any] = {"state": "unchanged", "by": None, "time": None, "revision": memory.revision}
    for event in reversed(events):
        _note(fate, event, memory.memory_id)
    return fate


def _note(fate: dict[str, Any], event: "audit_pb2.AuditEvent", memory_id: str) -> None:
    from muniment_server._gen.muniment.v1 import audit_pb2, write_pb2

    when = instant(event.event_time)
    superseded = write_pb2.WRITE_OUTCOME_SUPERSEDED_PREVIOUS
    match event.WhichOneof("details"):
        case "memory_erased" | "restore_declared":
            fate.update(state="erased", by=None, time=when)
        case "memory_superseded":
            told = event.memory_superseded
            if told.memory_id == memory_id and told.successor.outcome == superseded:
                fate.update(state="superseded", by=told.successor.memory_id, time=when)
        case "memory_written":
            for item in event.memory_written.items:
                if item.superseded_memory_id == memory_id and item.outcome == superseded:
                    fate.update(state="superseded", by=item.memory_id, time=when)
                elif item.memory_id == memory_id and item.revision > fate["revision"]:
                    fate.update(state="changed", time=when, revision=item.revision)
        case _ if event.action == audit_pb2.AUDIT_ACTION_ERASE:
            fate.update(state="erased", by=None, time=when)


# --- plain values -----------------------------------------------------------------------------------------


def _event(event: "audit_pb2.AuditEvent") -> dict[str, Any]:
    from muniment_server._gen.muniment.v1 import audit_pb2, error_reason_pb2

    return {
        "event_id": event.event_id,
        "time": instant(event.event_time) if event.HasField("event_time") else None,
        "action": word(audit_pb2.AuditAction, event.action),
        "outcome": word(audit_pb2.AuditOutcome, event.outcome),
        "reason": word(error_reason_pb2.ErrorReason, event.reason),
        "actor": actor(event.actor),
        "scope_id": event.scope_id,
        "sequence": event.sequence,
        "summary": summary(event),
    }


def _receipt(receipt: "audit_pb2.RecallReceipt", scope_id: str) -> dict[str, Any]:
    from muniment_server._gen.muniment.v1 import recall_pb2

    recalled = receipt.recalled
    used = {memory_id for report in receipt.uses for memory_id in report.used.memory_ids}
    return {
        "recall_id": receipt.recall_id,
        "time": instant(receipt.recall_time),
        "actor": actor(receipt.actor),
        "scope_id": scope_id,
        "scope": scope(receipt.scope) if receipt.HasField("scope") else None,
        "trace_id": receipt.trace_id,
        "span_id": receipt.span_id,
        "event_id": receipt.event_id,
        "sequence": receipt.sequence,
        "digest": receipt.digest.hex(),
        "limit": recalled.limit,
        "min_score": recalled.min_score,
        "token_budget": recalled.token_budget or None,
        "packed_tokens": recalled.packed_tokens,
        "tokenizer": recalled.tokenizer,
        "embedding_model": recalled.embedding_model,
        "query_digest": recalled.query_digest.hex(),
        "no_relevant_memory": recalled.no_relevant_memory,
        "fusion": word(recall_pb2.Fusion, recalled.fusion) or "score",
        "memories": [_memory(one, one.memory_id in used) for one in recalled.memories],
        "near_misses": [
            {
                "memory_id": one.memory_id,
                "score": one.score,
                "evidence": one.evidence,
                "reason": word(recall_pb2.LeftOutReason, one.reason),
                "legs": _legs(one.leg_scores),
                "factors": _factors(one.factors),
            }
            for one in recalled.near_misses
        ],
        "left_out": {word(recall_pb2.LeftOutReason, one.reason): one.count for one in recalled.left_out},
        "left_out_incomplete": recalled.left_out_incomplete,
        "score_basis": {name: getattr(recalled.score_basis, name) for name in BASIS}
        if recalled.HasField("score_basis")
        else None,
        "degraded": [
            {
                "stage": word(recall_pb2.RecallStage, one.stage),
                "leg": word(recall_pb2.RetrievalLeg, one.leg),
                "reason": word(recall_pb2.DegradationReason, one.reason),
            }
            for one in recalled.degraded
        ],
        "seal_broken_memory_ids": list(recalled.seal_broken_memory_ids),
        "uses": [_use(report) for report in receipt.uses],
    } | ({"as_of_time": instant(recalled.as_of_time)} if recalled.HasField("as_of_time") else {})


def _memory(one: "audit_pb2.RecalledMemory", used: bool) -> dict[str, Any]:
    return {
        "memory_id": one.memory_id,
        "revision": one.revision,
        "rank": one.rank,
        "score": one.score,
        "evidence": one.evidence,
        "packed": one.packed,
        "reported_used": used,
        "legs": _legs(one.leg_scores),
        "factors": _factors(one.factors),
    }


def _legs(scores: "Iterable[recall_pb2.LegScore]") -> list[dict[str, Any]]:
    from muniment_server._gen.muniment.v1 import recall_pb2

    return [
        {
            "leg": word(recall_pb2.RetrievalLeg, leg.leg),
            "rank": leg.rank or None,
            "raw_score": leg.raw_score,
            "contribution": leg.contribution,
            # What was recorded before there were weights has none.
            **({"value": leg.value, "weight": leg.weight} if leg.weight else {}),
        }
        for leg in scores
    ]


def _factors(factors: "Iterable[write_pb2.ScoreFactor]") -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "value": one.value,
            "weight": one.weight,
            "contribution": one.contribution,
            **({"rank": one.rank} if one.rank else {}),
        }
        for one in factors
    ]


def _use(report: "audit_pb2.UseReport") -> dict[str, Any]:
    from muniment_server._gen.muniment.v1 import audit_pb2

    return {
        "event_id": report.event_id,
        "time": instant(report.report_time),
        "actor": actor(report.actor),
        "memory_ids": list(report.used.memory_ids),
        "outcome": word(audit_pb2.UseOutcome, report.used.outcome),
        "model": report.used.model,
        "prompt_ref": report.used.prompt_ref,
    }


# --- for people ---------------------------------------------------------------------------------------------


def _print(trace_id: str | None, events: "list[audit_pb2.AuditEvent]", recalls: list[dict[str, Any]]) -> None:
    if trace_id:
        print(f"Trace {trace_id}: {count_of(len(events), 'event')}, {len(recalls)} of them recalls\n")
        for event in map(_event, reversed(events)):
            outcome = event["outcome"] + (f" {event['reason']}" if event["reason"] else "")
            print(f"  {time_text(event['time'])}  {event['action']:<14} {outcome:<8} {event['summary']}")
    for recall in recalls:
        print()
        _print_recall(recall)


def _print_recall(recall: dict[str, Any]) -> None:
    place = f"{recall['sequence']} ({recall['digest'][:16]})" if recall["sequence"] else "not chained yet"
    print(f"Recall {recall['recall_id']}")
    for name, text in (
        ("when", time_text(recall["time"])),
        ("who", actor_text(recall["actor"])),
        ("scope", scope_text(recall["scope"], recall["scope_id"])),
        ("trace", f"{recall['trace_id'] or '-'}, span {recall['span_id'] or '-'}"),
        ("in force", in_force(recall)),
        ("compared", _compared(recall)),
        *((("scores", line) for line in basis_lines(recall)) if recall["score_basis"] else ()),
        ("in the chain", place),
    ):
        print(f"  {name:<13}{text}")
    memories = recall["memories"]
    print(
        f"\n  Offered: {count_of(len(memories), 'memory')}"
        + (", best first" if memories else _nothing(recall))
    )
    for memory in memories:
        _print_memory(memory)
    if recall["near_misses"]:
        print("\n  Near misses")
    for one in recall["near_misses"]:
        evidence = evidence_text(recall, one)
        print(f"\n       {one['memory_id']}  score {one['score']:.3f}{evidence}  {one['reason']}")
        print_reasons(one)
    print("\n  Left out")
    left_out = [f"{count} {reason}" for reason, count in recall["left_out"].items()]
    part = " of what was drawn from a large scope" if recall["left_out_incomplete"] else ""
    print(f"    {', '.join(left_out) or 'nothing'}{part}")
    for one in recall["degraded"]:
        print(f"    degraded: {one['stage']} {one['leg']} ({one['reason']})")
    if recall["seal_broken_memory_ids"]:
        print("\n  Refused: the stored row is not what the service wrote. Run `muniment verify`.")
        for memory_id in recall["seal_broken_memory_ids"]:
            print(f"    {memory_id}")
    print("\n  Reported use")
    for use in recall["uses"]:
        told = [count_of(len(use["memory_ids"]), "memory")]
        told += [f"{name} {use[name]}" for name in ("outcome", "model", "prompt_ref") if use[name]]
        print(f"    {time_text(use['time'])}  {shown(', '.join(told))}  by {actor_text(use['actor'])}")
    if not recall["uses"]:
        print("    none: only the caller knows what entered the prompt")


def _compared(recall: dict[str, Any]) -> str:
    model = recall["embedding_model"]
    return f"by meaning with {model}, and by words" if model else "by words only"


def _nothing(recall: dict[str, Any]) -> str:
    return ": nothing in the scope was relevant" if recall["no_relevant_memory"] else ""


def _print_memory(memory: dict[str, Any]) -> None:
    marks = ["packed"] if memory["packed"] else ["not packed"]
    marks += ["reported used"] if memory["reported_used"] else []
    print(
        f"\n  {memory['rank']:>3}  {memory['memory_id']}  revision {memory['revision']}  "
        f"score {memory['score']:.3f}  {', '.join(marks)}"
    )
    print_reasons(memory)
    since = memory.get("since")
    if since is not None and since["state"] != "unchanged":
        by = f" by {since['by']}" if since["by"] else ""
        now = f" (revision {since['revision']})" if since["state"] == "changed" else ""
        print(f"         since {since['state']}{by}{now} at {time_text(since['time'])}")
