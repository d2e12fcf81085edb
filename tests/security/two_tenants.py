"""A suite that exercises everything for two tenants with equal names and looks for what leaks."""

import contextlib
from typing import Any

import grpc

from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    correction_pb2,
    erasure_pb2,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    review_pb2,
    subject_pb2,
)
from support.service import Caller, RunningService, item, request_id, scope

SUBJECT = "john"


class Heard:
    """Everything a tenant was answered, as bytes."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []

    def note(self, message: Any) -> Any:
        """Keep an answer and hand it on."""
        self.answers.append(message.SerializeToString())
        return message

    def contains(self, needle: str) -> bool:
        """Whether a text occurs in any answer."""
        return any(needle.encode() in answer for answer in self.answers)


class Tenant:
    """One tenant's caller, marker, ids, and what it heard."""

    def __init__(self, caller: Caller, marker: str) -> None:
        self.caller = caller
        self.marker = marker
        self.heard = Heard()
        self.live: list[str] = []
        self.recall_id = ""
        self.erasure_id = ""
        self.list_token = ""
        self.write_id = ""
        self.waiting_id = ""
        self.audit_token = ""

    async def call(self, method: str, request: Any) -> Any:
        """Call and keep the answer."""
        return self.heard.note(await self.caller.call(method, request))

    def text(self, words: str) -> str:
        """A statement that only this tenant can have."""
        return f"{words} {self.marker}"


async def populate(tenant: Tenant) -> None:
    """Write, restate, fill a slot twice, supersede, recall, report."""
    caller, heard = tenant.caller, tenant.heard
    first = heard.note(
        await caller.write(
            SUBJECT,
            item(tenant.text("likes green tea"), tags=["drink"]),
            item(tenant.text("lives in Lyon"), slot="home_city"),
            item(tenant.text("works at the harbour"), provenance=memory_pb2.Provenance(session="s1")),
            request_id=request_id(),
        )
    )
    heard.note(await caller.write(SUBJECT, tenant.text("likes green tea")))
    moved = heard.note(await caller.write(SUBJECT, item(tenant.text("lives in Porto"), slot="home_city")))
    changed = heard.note(
        await caller.supersede(first.results[2].memory.memory_id, tenant.text("works at the airport"))
    )
    tenant.live = [
        first.results[0].memory.memory_id,
        moved.results[0].memory.memory_id,
        changed.memory.memory_id,
    ]


async def use(tenant: Tenant) -> None:
    """Every read and every kind of erasure, on the tenant's own things."""
    caller = tenant.caller
    recalled = tenant.heard.note(await caller.recall(SUBJECT, "green tea Lyon Porto", min_score=0.0))
    assert {one.memory.memory_id for one in recalled.memories} <= set(tenant.live)
    tenant.recall_id = recalled.recall_id
    tenant.heard.note(await caller.recall(SUBJECT, "green tea", fusion=recall_pb2.FUSION_RRF))
    tenant.heard.note(
        await caller.recall(
            SUBJECT,
            "tea",
            min_score=0.0,
            filter=filter_pb2.MemoryFilter(states=[memory_pb2.MEMORY_STATE_SUPERSEDED]),
        )
    )
    await tenant.call(
        "ReportUse",
        memory_service_pb2.ReportUseRequest(
            recall_id=recalled.recall_id,
            memory_ids=[one.memory.memory_id for one in recalled.memories[:1]],
            outcome=audit_pb2.USE_OUTCOME_HELPFUL,
        ),
    )
    await tenant.call(
        "GetMemory", memory_service_pb2.GetMemoryRequest(memory_id=tenant.live[0], include_revisions=True)
    )
    listed = await tenant.call(
        "ListMemories",
        memory_service_pb2.ListMemoriesRequest(
            scope=scope(SUBJECT), page_size=1, view=memory_pb2.MEMORY_VIEW_FULL
        ),
    )
    tenant.list_token = listed.next_page_token
    page = await tenant.call("Audit", memory_service_pb2.AuditRequest(page_size=2))
    tenant.audit_token = page.next_page_token
    await tenant.call(
        "Audit",
        memory_service_pb2.AuditRequest(filter=audit_filter(memory_id=tenant.live[0])),
    )
    await tenant.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=tenant.recall_id))
    # Several scopes and kinds of erasure, each on something made for it.
    spare = (await caller.write("spare", tenant.text("one"), item(tenant.text("two"), tags=["gone"]))).results
    erased = await caller.erase_memories(spare[0].memory.memory_id)
    tenant.erasure_id = erased.erasure_id
    assert erased.counts.memories == 1
    await caller.erase_filter("spare", filter_pb2.MemoryFilter(tags_any=["gone"]))
    await caller.write("spare", item(tenant.text("three"), provenance=memory_pb2.Provenance(session="s9")))
    await tenant.call(
        "Erase",
        memory_service_pb2.EraseRequest(
            target=erasure_pb2.ErasureTarget(
                session=erasure_pb2.SessionTarget(scope=scope("spare", session="s9"))
            )
        ),
    )
    await caller.write("spare", tenant.text("four"))
    tenant.heard.note(await caller.erase_subject("spare"))
    await tenant.call("GetErasure", memory_service_pb2.GetErasureRequest(erasure_id=tenant.erasure_id))
    await correct(tenant)
    await review(tenant)
    await move(tenant)


async def correct(tenant: Tenant) -> None:
    """End a memory, put it back, take a write back, and look at what was known before."""
    caller, write = tenant.caller, request_id()
    written = await caller.write("more", tenant.text("plays the oboe"), request_id=write)
    tenant.write_id = write
    (known,) = written.results
    named = {"memory_id": known.memory.memory_id}
    await tenant.call("Retract", correction_pb2.RetractRequest(**named))
    await tenant.call("Restore", correction_pb2.RestoreRequest(**named))
    known_at = memory_service_pb2.RecallRequest(
        scope=scope("more"), query="oboe", min_score=0.0, as_of_time=known.memory.create_time
    )
    answer = await tenant.call("Recall", known_at)
    assert [one.memory.memory_id for one in answer.memories] == [known.memory.memory_id]
    await tenant.call("UndoWrite", correction_pb2.UndoWriteRequest(write_request_id=write))


async def review(tenant: Tenant) -> None:
    """Decide what waits, and the subject's consent."""
    hearsay = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_THIRD_PARTY)
    texts = [
        item(tenant.text(f"is said to {words}"), provenance=hearsay) for words in ("sing", "dance", "ski")
    ]
    waiting = [one.memory.memory_id for one in (await tenant.caller.write("more", *texts)).results]
    listed = await tenant.call("ListReviews", review_pb2.ListReviewsRequest())
    assert {one.memory.memory_id for one in listed.reviews} == set(waiting)
    for memory_id, decision in zip(waiting[:2], ("APPROVE", "REJECT"), strict=True):
        decided = review_pb2.ReviewDecision.Value(f"REVIEW_DECISION_{decision}")
        await tenant.call(
            "DecideReview", review_pb2.DecideReviewRequest(memory_id=memory_id, decision=decided)
        )
    tenant.waiting_id = waiting[2]
    consent = {"scope": scope("more"), "level": subject_pb2.CONSENT_LEVEL_ALL}
    await tenant.call("SetConsent", subject_pb2.SetConsentRequest(**consent))
    await tenant.call("GetConsent", subject_pb2.GetConsentRequest(scope=scope("more")))
    await tenant.call("DescribeSubject", subject_pb2.DescribeSubjectRequest(scope=scope("more")))


async def move(tenant: Tenant) -> None:
    """Take the subject's memories out and in again, and the trail out."""
    caller = tenant.caller
    exported = caller.subject.ExportMemories(
        subject_pb2.ExportMemoriesRequest(scope=scope("more")), metadata=caller.metadata, timeout=30
    )
    parts = [tenant.heard.note(one) async for one in exported]
    records = [record for part in parts for record in part.records]
    assert records
    await tenant.call(
        "ImportMemories", subject_pb2.ImportMemoriesRequest(scope=scope("moved"), records=records)
    )
    trail = caller.audit.ExportAudit(audit_pb2.ExportAuditRequest(), metadata=caller.metadata, timeout=30)
    assert [tenant.heard.note(one) async for one in trail]


def audit_filter(**fields: Any) -> audit_pb2.AuditFilter:
    """A filter of the audit."""
    return audit_pb2.AuditFilter(**fields)


async def attack(tenant: Tenant, other: Tenant) -> None:
    """Try to reach everything of `other` with this tenant's valid credential; nothing may succeed."""
    foreign = other.live[0]
    attempts: list[tuple[str, Any]] = [
        ("GetMemory", memory_service_pb2.GetMemoryRequest(memory_id=foreign, include_revisions=True)),
        ("Supersede", memory_service_pb2.SupersedeRequest(memory_id=foreign, item=item("taken over"))),
        (
            "Erase",
            memory_service_pb2.EraseRequest(
                target=erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=[foreign]))
            ),
        ),
        ("GetErasure", memory_service_pb2.GetErasureRequest(erasure_id=other.erasure_id)),
        ("GetRecall", audit_pb2.GetRecallRequest(recall_id=other.recall_id)),
        ("ReportUse", memory_service_pb2.ReportUseRequest(recall_id=other.recall_id, memory_ids=[foreign])),
        (
            "ListMemories",
            memory_service_pb2.ListMemoriesRequest(scope=scope(SUBJECT), page_token=other.list_token),
        ),
        ("Audit", memory_service_pb2.AuditRequest(page_size=2, page_token=other.audit_token)),
        ("Retract", correction_pb2.RetractRequest(memory_id=foreign)),
        ("Restore", correction_pb2.RestoreRequest(memory_id=foreign)),
        ("UndoWrite", correction_pb2.UndoWriteRequest(write_request_id=other.write_id)),
        ("DecideReview", review_pb2.DecideReviewRequest(memory_id=other.waiting_id, decision=1)),
    ]
    for method, request in attempts:
        succeeded = False
        with contextlib.suppress(grpc.aio.AioRpcError):
            await tenant.call(method, request)
            succeeded = True
        assert not succeeded, f"{method} reached another tenant"
    # The answer is a list here, and it must be empty.
    audit = await tenant.call(
        "Audit", memory_service_pb2.AuditRequest(filter=audit_filter(memory_id=foreign))
    )
    own = {one.outcome for one in audit.events}
    assert own <= {audit_pb2.AUDIT_OUTCOME_DENIED, audit_pb2.AUDIT_OUTCOME_FAILED}


async def run_suite(service: RunningService, round_name: str) -> None:
    """Two fresh tenants with equal names, used and set on each other; raises where anything leaks."""
    one = Tenant(service.caller(f"one-{round_name}"), "QZX7781")
    two = Tenant(service.caller(f"two-{round_name}"), "KORRIGAN9")
    for tenant in (one, two):
        await populate(tenant)
    for tenant, other in ((one, two), (two, one)):
        before = stored(service, other)
        await use(tenant)
        assert stored(service, other) == before, "a tenant's own calls changed another tenant's rows"
    for tenant, other in ((one, two), (two, one)):
        before = stored(service, other)
        await attack(tenant, other)
        assert stored(service, other) == before, "another tenant's rows were changed"
    assert not one.heard.contains(two.marker)
    assert not two.heard.contains(one.marker)


def stored(service: RunningService, tenant: Tenant) -> list[Any]:
    """The tenant's memories and scopes as they stand in the store, seen by a superuser."""
    tenant_id = service.tenant_id(tenant.caller.tenant)
    return [
        *service.database.rows(
            "SELECT memory_id, revision, state, seal FROM memory WHERE tenant_id = %s ORDER BY memory_id",
            (tenant_id,),
        ),
        *service.database.rows(
            "SELECT memory_id, revision, seal FROM memory_revision WHERE tenant_id = %s ORDER BY 1, 2",
            (tenant_id,),
        ),
        *service.database.rows(
            "SELECT scope_id, generation, live_count FROM scope WHERE tenant_id = %s ORDER BY 1", (tenant_id,)
        ),
        *service.database.rows("SELECT count(*) AS postings FROM posting WHERE tenant_id = %s", (tenant_id,)),
        *service.database.rows(
            "SELECT count(*) AS vectors FROM memory_embedding WHERE tenant_id = %s", (tenant_id,)
        ),
    ]
