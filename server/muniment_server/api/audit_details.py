"""The details of audit events as messages of the contract: a builder for each kind that is recorded."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from muniment_server._gen.muniment.v1 import audit_pb2, erasure_pb2, recall_pb2, write_pb2
from muniment_server.api import answers
from muniment_server.audit.events import AuditEvent, AuditOutcome, from_micros

MOST_IDS: Final = 1_000
"""Memories that one event's details name."""

_Details = Mapping[str, Any]


def of(known: AuditEvent) -> dict[str, Any]:
    """The one set field of `AuditEvent.details`, or none."""
    for name, build in _BUILDERS.items():
        given = known.details.get(name)
        if given is not None:
            if name == "access_denied" and known.outcome is not AuditOutcome.DENIED:
                return {}
            return {name: build(known, given)}
    return {}


def _written_memory(item: _Details) -> audit_pb2.WrittenMemory:
    return audit_pb2.WrittenMemory(
        memory_id=item["memory_id"] or "",
        revision=item["revision"],
        outcome=item["outcome"],
        kind=item["kind"],
        source_type=item["source_type"],
        trust=item["trust"],
        superseded_memory_id=item["superseded_memory_id"] or "",
        rule=item["rule"] or "",
        findings=[write_pb2.GateFinding(**finding) for finding in item.get("findings", ())],
        importance_factors=[
            write_pb2.ScoreFactor(
                name=factor["name"],
                **{name: factor[name] / 1_000_000 for name in ("value", "weight", "contribution")},
            )
            for factor in item.get("importance_factors", ())
        ],
    )


def _written(_event: AuditEvent, given: _Details) -> audit_pb2.MemoryWritten:
    return audit_pb2.MemoryWritten(items=[_written_memory(item) for item in given["items"]])


def _superseded(_event: AuditEvent, given: _Details) -> audit_pb2.MemorySuperseded:
    return audit_pb2.MemorySuperseded(
        memory_id=given["memory_id"],
        revision=given["revision"],
        successor=_written_memory(given["successor"]),
    )


def _erased(known: AuditEvent, given: _Details) -> audit_pb2.MemoryErased:
    return audit_pb2.MemoryErased(
        erasure_id=given["erasure_id"],
        target_kind=given["target_kind"],
        reason=given["reason"],
        reason_code=given["reason_code"],
        counts=erasure_pb2.ErasureCounts(**given["counts"]),
        keys_destroyed=given["keys_destroyed"],
        memory_ids=_ids(known.memory_ids),
    )


def recalled(given: _Details) -> audit_pb2.MemoriesRecalled:
    """The details of a recall: its receipt."""
    return audit_pb2.MemoriesRecalled(
        recall_id=given["recall_id"],
        memories=[
            audit_pb2.RecalledMemory(
                memory_id=one["memory_id"],
                revision=one["revision"],
                rank=one["rank"],
                score=_fraction(one["score"]),
                packed=one["packed"],
                leg_scores=_legs(one),
                factors=_factors(one),
                evidence=_fraction(one.get("evidence", 0)),
            )
            for one in given["memories"]
        ],
        near_misses=[
            recall_pb2.NearMiss(
                memory_id=one["memory_id"],
                score=_fraction(one["score"]),
                reason=one["reason"],
                leg_scores=_legs(one),
                factors=_factors(one),
                evidence=_fraction(one.get("evidence", 0)),
            )
            for one in given.get("near_misses", ())
        ],
        fusion=answers.number(given.get("fusion")),
        left_out=[
            recall_pb2.LeftOut(reason=answers.number(int(reason)), count=count)
            for reason, count in sorted(given["left_out"].items(), key=lambda entry: int(entry[0]))
        ],
        degraded=[
            recall_pb2.Degradation(
                stage=one["stage"],
                leg=one["leg"],
                reason=one["reason"],
                affected_count=one.get("affected_count", 0),
            )
            for one in given["degraded"]
        ],
        seal_broken_memory_ids=given["seal_broken_memory_ids"],
        no_relevant_memory=given["no_relevant_memory"],
        limit=given["limit"],
        min_score=_fraction(given["min_score"]),
        token_budget=given["token_budget"] or 0,
        packed_tokens=given["packed_tokens"],
        tokenizer=given["tokenizer"] or "",
        embedding_model=given["embedding_model"] or "",
        query_digest=bytes.fromhex(given["query_digest"] or ""),
        as_of_time=answers.timestamp(from_micros(given["as_of_time"])) if "as_of_time" in given else None,
        left_out_incomplete=given.get("left_out_incomplete", False),
        score_basis=_basis(given["score_basis"]) if "score_basis" in given else None,
    )


def _basis(given: Mapping[str, int]) -> recall_pb2.ScoreBasis:
    shares = {name: _fraction(value) for name, value in given.items() if name != "leg_count"}
    return recall_pb2.ScoreBasis(leg_count=given["leg_count"], **shares)


def _legs(given: _Details) -> list[recall_pb2.LegScore]:
    return [
        recall_pb2.LegScore(
            leg=leg["leg"],
            rank=leg["rank"],
            raw_score=_fraction(leg["raw_score"]),
            contribution=_fraction(leg["contribution"]),
            value=_fraction(leg.get("value", 0)),
            weight=_fraction(leg.get("weight", 0)),
        )
        for leg in given["legs"]
    ]


def _factors(given: _Details) -> list[write_pb2.ScoreFactor]:
    return [
        write_pb2.ScoreFactor(
            name=one["name"],
            value=_fraction(one["value"]),
            weight=_fraction(one["weight"]),
            contribution=_fraction(one["contribution"]),
            rank=one.get("rank", 0),
        )
        for one in given.get("factors", ())
    ]


def used(given: _Details) -> audit_pb2.MemoriesUsed:
    """The details of a use report."""
    return audit_pb2.MemoriesUsed(
        recall_id=given["recall_id"],
        memory_ids=given["memory_ids"],
        outcome=given["outcome"],
        model=given["model"],
        prompt_ref=given["prompt_ref"],
    )


def _read(_event: AuditEvent, given: _Details) -> audit_pb2.MemoriesRead:
    return audit_pb2.MemoriesRead(memory_ids=given["memory_ids"][:MOST_IDS], count=given["count"])


def _denied(_event: AuditEvent, given: _Details) -> audit_pb2.AccessDenied:
    return audit_pb2.AccessDenied(method=given["method"], permission=given["permission"] or "")


def _violated(_event: AuditEvent, given: _Details) -> audit_pb2.IntegrityViolation:
    return audit_pb2.IntegrityViolation(
        memory_ids=given["memory_ids"][:MOST_IDS], check=given["check"], count=given["count"]
    )


def _restored(_event: AuditEvent, given: _Details) -> audit_pb2.RestoreDeclared:
    return audit_pb2.RestoreDeclared(
        anchored_sequence=given["anchored_sequence"],
        restored_sequence=given["restored_sequence"],
        reference=given["reference"],
    )


def _administered(_event: AuditEvent, given: _Details) -> audit_pb2.Administered:
    expire_time = given["expire_time"]
    return audit_pb2.Administered(
        act=given["act"],
        credential_id=given["credential_id"] or "",
        public_id=given["public_id"] or "",
        permissions=given["permissions"],
        source_types=given["source_types"],
        max_trust=answers.number(given["max_trust"] or 0),
        subject_bound=given["subject_bound"],
        agent=given["agent"] or "",
        expire_time=None if expire_time is None else answers.timestamp(from_micros(expire_time)),
        master_key_id=given["master_key_id"] or "",
        setting=given.get("setting") or "",
        value=given.get("value") or "",
        policy_revision=given.get("policy_revision", 0),
        policy_digest=bytes.fromhex(given.get("policy_digest", "")),
    )


def _ingested(_event: AuditEvent, given: _Details) -> audit_pb2.ConversationIngested:
    return audit_pb2.ConversationIngested(
        ingest_id=given["ingest_id"],
        state=given["state"],
        items=[_written_memory(item) for item in given["items"]],
        extractor=answers.number(given.get("extractor")),
        fallback=answers.number(given.get("fallback")),
    )


def _corrected(_event: AuditEvent, given: _Details) -> audit_pb2.MemoriesCorrected:
    return audit_pb2.MemoriesCorrected(
        memories=[
            audit_pb2.CorrectedMemory(
                memory_id=one["memory_id"], revision=one["revision"], state=one["state"]
            )
            for one in given["memories"]
        ],
        write_request_id=given["write_request_id"] or "",
    )


def _decided(_event: AuditEvent, given: _Details) -> audit_pb2.ReviewDecided:
    return audit_pb2.ReviewDecided(
        memory_id=given["memory_id"],
        revision=given["revision"],
        decision=given["decision"],
        superseded_memory_id=given["superseded_memory_id"] or "",
        trust=given["trust"],
    )


def _consented(_event: AuditEvent, given: _Details) -> audit_pb2.ConsentChanged:
    return audit_pb2.ConsentChanged(
        level=answers.number(given["level"]),
        necessary_kinds=given["necessary_kinds"],
        session_forgotten=given["session_forgotten"],
        erasure_id=given["erasure_id"] or "",
    )


def _fraction(millionths: int) -> float:
    return millionths / 1_000_000


def _ids(memory_ids: Sequence[UUID]) -> list[str]:
    return [str(memory_id) for memory_id in memory_ids[:MOST_IDS]]


_BUILDERS: Final[Mapping[str, Callable[[AuditEvent, _Details], Any]]] = {
    "memory_written": _written,
    "memory_superseded": _superseded,
    "memory_erased": _erased,
    "memories_recalled": lambda _event, given: recalled(given),
    "memories_used": lambda _event, given: used(given),
    "memories_read": _read,
    "access_denied": _denied,
    "integrity_violation": _violated,
    "restore_declared": _restored,
    "administered": _administered,
    "conversation_ingested": _ingested,
    "memories_corrected": _corrected,
    "review_decided": _decided,
    "consent_changed": _consented,
}
