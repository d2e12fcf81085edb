"""What operators do stands in the trail of every tenant that it concerns, or is not done."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import pytest

from muniment_server._gen.muniment.v1 import audit_pb2, memory_pb2, memory_service_pb2
from muniment_server.audit.events import Actor, ActorKind
from muniment_server.audit.operators import OperatorTrail
from muniment_server.audit.verify import verify
from muniment_server.crypto.errors import KeyStoreUnavailable
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity import api_key
from muniment_server.storage import admin
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService

T = TypeVar("T")
ANNA = Actor(ActorKind.OPERATOR, "anna", client="muniment-cli/1")
END = datetime(2031, 2, 3, 4, 5, 6, 789, UTC)


async def act(service: RunningService, do: Callable[[psycopg.Connection[Any], OperatorTrail], T]) -> T:
    """Do something as an operator would, over a connection of his own, beside the running service."""
    loop = asyncio.get_running_loop()

    def tenant_key(tenant_id: UUID) -> TenantKey:
        return asyncio.run_coroutine_threadsafe(service.key_store.tenant_key(tenant_id), loop).result()

    def work() -> T:
        with psycopg.connect(service.database.superuser_conninfo, autocommit=True) as connection:
            return do(connection, OperatorTrail(ANNA, tenant_key))

    return await asyncio.to_thread(work)


def new_key(*tenants: str, **fields: Any) -> admin.NewCredential:
    key = api_key.generate()
    return admin.NewCredential(
        key.public_id, key.digest(), "Ada's laptop", tenants, ("write", "recall"),
        (SourceType.USER_STATED, SourceType.TOOL), TrustLevel.HIGH, **fields,
    )  # fmt: skip


async def acts_of(caller: Caller, **restriction: Any) -> list[audit_pb2.AuditEvent]:
    """What operators did, oldest first."""
    filters = audit_pb2.AuditFilter(actions=[audit_pb2.AUDIT_ACTION_ADMINISTER], **restriction)
    page = await caller.call("Audit", memory_service_pb2.AuditRequest(filter=filters))
    return list(reversed(page.events))


async def test_tenants_and_keys_from_making_to_revoking(service: RunningService) -> None:
    acme = await act(service, lambda c, trail: admin.create_tenant(c, "acme", trail, service.seals))
    shop = await act(service, lambda c, trail: admin.create_tenant(c, "shop", trail, service.seals))
    new = new_key("acme", "shop", subject="ada", agent="desk", expire_time=END)
    credential_id = await act(service, lambda c, trail: admin.create_credential(c, new, trail, service.seals))
    await act(service, lambda c, trail: admin.revoke_credential(c, new.public_id, trail, service.seals))
    # Once more changes nothing, and is not told again.
    await act(service, lambda c, trail: admin.revoke_credential(c, new.public_id, trail, service.seals))

    scope_ids = set()
    for tenant in (acme, shop):
        key = await service.key_store.tenant_key(tenant.tenant_id)
        made, created, revoked = await acts_of(service.caller(tenant.name))
        for event in (made, created, revoked):
            assert event.outcome == audit_pb2.AUDIT_OUTCOME_OK
            assert event.actor == audit_pb2.Actor(
                kind=audit_pb2.ACTOR_KIND_OPERATOR, principal="anna", client="muniment-cli/1"
            )
        assert made.administered == audit_pb2.Administered(act=audit_pb2.ADMINISTRATIVE_ACT_TENANT_CREATED)
        assert not made.scope_id
        expected = audit_pb2.Administered(
            act=audit_pb2.ADMINISTRATIVE_ACT_API_KEY_CREATED,
            credential_id=str(credential_id),
            public_id=new.public_id,
            permissions=["write", "recall"],
            source_types=[memory_pb2.SOURCE_TYPE_USER_STATED, memory_pb2.SOURCE_TYPE_TOOL],
            max_trust=memory_pb2.TRUST_LEVEL_HIGH,
            subject_bound=True,
            agent="desk",
        )
        expected.expire_time.FromDatetime(END)
        assert created.administered == expected
        expected.act = audit_pb2.ADMINISTRATIVE_ACT_API_KEY_REVOKED
        assert revoked.administered == expected
        scope_ids |= {created.scope_id, revoked.scope_id}
        assert created.scope_id == str(key.scope_id(1, "ada"))
        # Nothing of ada is remembered yet, so nobody can read her label.
        assert not created.HasField("scope")
    assert len(scope_ids) == 2


async def test_a_bound_key_belongs_to_its_subjects_trail(service: RunningService) -> None:
    caller = service.caller("acme")
    await caller.write("ada", "Likes tea")
    new = new_key("acme", subject="ada")
    await act(service, lambda c, trail: admin.create_credential(c, new, trail, service.seals))
    of_ada = memory_pb2.Scope(subject="ada")
    (event,) = await acts_of(caller, scope=of_ada)
    assert event.scope == of_ada
    assert await acts_of(caller, scope=memory_pb2.Scope(subject="bob")) == []
    await caller.erase_subject("ada")
    (event,) = await acts_of(caller)
    assert event.scope_id
    assert not event.HasField("scope")


async def test_events_hold_no_label_and_no_secret(service: RunningService) -> None:
    await act(service, lambda c, trail: admin.create_tenant(c, "acme", trail, service.seals))
    new = new_key("acme", subject="Ada Lovelace")
    await act(service, lambda c, trail: admin.create_credential(c, new, trail, service.seals))
    for row in service.database.rows("SELECT audit_event::text AS text, payload FROM audit_event"):
        stored = row["text"] + bytes(row["payload"]).decode()
        for forbidden in ("Lovelace", "laptop", new.secret_digest.hex()):
            assert forbidden not in stored


async def test_the_sealer_takes_them_and_verification_holds(service: RunningService) -> None:
    tenant = await act(service, lambda c, trail: admin.create_tenant(c, "acme", trail, service.seals))
    await act(
        service,
        lambda c, trail: admin.create_credential(c, new_key("acme", subject="ada"), trail, service.seals),
    )
    assert service.service.sealer is not None
    assert service.service.maintenance is not None
    assert await service.service.sealer.settle(tenant.tenant_id)
    (report,) = [
        one async for one in verify(service.service.maintenance, service.key_store, tenant="acme", deep=True)
    ]
    assert (report.findings, report.events, report.waiting) == ([], 2, 0)
    # A forged act is found like any other forged event.
    service.database.execute("UPDATE audit_event SET actor = 'bob'")
    (report,) = [
        one async for one in verify(service.service.maintenance, service.key_store, tenant="acme", deep=False)
    ]
    assert {finding.kind.value for finding in report.findings} == {"event_changed"}


async def test_without_the_key_store_nothing_is_done(service: RunningService) -> None:
    await act(service, lambda c, trail: admin.create_tenant(c, "acme", trail, service.seals))
    await act(service, lambda c, trail: admin.create_tenant(c, "shop", trail, service.seals))
    kept = new_key("acme")
    await act(service, lambda c, trail: admin.create_credential(c, kept, trail, service.seals))
    shop = service.tenant_id("shop")

    def before(database: PostgresDatabase) -> Any:
        return [
            database.rows(query)
            for query in (
                "SELECT name FROM tenant ORDER BY name",
                "SELECT public_id, revoke_time FROM credential",
                "SELECT event_id FROM audit_event ORDER BY event_id",
            )
        ]

    def fails(do: Callable[[psycopg.Connection[Any], OperatorTrail], Any]) -> None:
        """With a key store that gives the first tenant's key and then goes away."""

        def tenant_key(tenant_id: UUID) -> TenantKey:
            if tenant_id == service.tenant_id("acme"):
                return TenantKey(tenant_id, bytes(32))
            raise KeyStoreUnavailable("down")

        with (
            psycopg.connect(service.database.superuser_conninfo, autocommit=True) as connection,
            pytest.raises(KeyStoreUnavailable),
        ):
            do(connection, OperatorTrail(ANNA, tenant_key))

    state = before(service.database)
    fails(lambda c, trail: admin.create_tenant(c, "other", trail, service.seals))
    fails(lambda c, trail: admin.create_credential(c, new_key("acme", "shop"), trail, service.seals))
    service.database.execute("UPDATE credential SET tenant_ids = tenant_ids || %s::uuid", (shop,))
    fails(lambda c, trail: admin.revoke_credential(c, kept.public_id, trail, service.seals))
    assert before(service.database) == state


async def test_a_revocation_is_recorded_where_the_key_could_act(service: RunningService) -> None:
    for name in ("acme", "shop"):
        await act(service, lambda c, trail, name=name: admin.create_tenant(c, name, trail, service.seals))
    new = new_key("acme")
    await act(service, lambda c, trail: admin.create_credential(c, new, trail, service.seals))
    since = datetime.now(UTC)
    revoked = await act(
        service, lambda c, trail: admin.revoke_credential(c, new.public_id, trail, service.seals)
    )
    assert timedelta(0) <= revoked - since < timedelta(seconds=30)
    assert len(await acts_of(service.caller("acme"))) == 3
    assert len(await acts_of(service.caller("shop"))) == 1
