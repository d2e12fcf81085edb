"""What operators do: tenants, keys, the instance; and how the service sees it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from muniment_server.crypto.credential_seal import Seals
from muniment_server.crypto.key_store import KeyStore
from muniment_server.domain.errors import CredentialsInvalid
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity import api_key
from muniment_server.identity.api_key import ApiKeyAuthenticator
from muniment_server.identity.principal import Permission
from muniment_server.storage import admin, restoring
from muniment_server.storage.admin import AdminError, ModelMismatchError, NewCredential
from muniment_server.storage.credentials import DatabaseCredentials
from muniment_server.storage.database import Database
from muniment_server.storage.hints import Hint, HintKind, Hints, keys_destroyed
from support.postgres import PostgresDatabase
from support.seals import new_key_store, seals_of


@pytest.fixture
def owner(database: PostgresDatabase) -> Iterator[psycopg.Connection[Any]]:
    """A connection that may act as the owner."""
    with psycopg.connect(database.superuser_conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[KeyStore]:
    """A key store."""
    made = new_key_store(tmp_path / "keys")
    yield made
    await made.close()


@pytest.fixture
def seals(store: KeyStore) -> Seals:
    """Seals of the key store."""
    return seals_of(store)


def model(name: str = "small", digest: str = "ab" * 32, dimension: int = 384) -> Any:
    return SimpleNamespace(name=name, digest=digest, dimension=dimension, setting="auto")


def new_key(*tenants: str, **fields: Any) -> tuple[api_key.ApiKey, NewCredential]:
    key = api_key.generate()
    defaults: dict[str, Any] = {
        "label": "test",
        "permissions": ("write", "recall"),
        "source_types": (SourceType.TOOL,),
        "max_trust": TrustLevel.LOW,
    }
    return key, NewCredential(
        public_id=key.public_id, secret_digest=key.digest(), tenants=tenants, **{**defaults, **fields}
    )


# --- the instance ---------------------------------------------------------------------------------


def test_the_first_start_writes_the_instance_and_later_ones_keep_it(
    database: PostgresDatabase, owner: psycopg.Connection[Any]
) -> None:
    assert admin.read_instance(owner) is None
    first = admin.ensure_instance(owner, model())
    assert admin.ensure_instance(owner, model()) == first
    assert database.rows("SELECT instance_id, model_no, restore_epoch FROM instance") == [
        {"instance_id": first.instance_id, "model_no": 1, "restore_epoch": 0}
    ]
    assert database.rows("SELECT model_no, name, dimension FROM embedding_model") == [
        {"model_no": 1, "name": "small", "dimension": 384}
    ]
    for conninfo in (database.app_conninfo, database.maintenance_conninfo):
        with psycopg.connect(conninfo, autocommit=True) as connection:
            assert admin.read_instance(connection) == first


@pytest.mark.parametrize(
    "other",
    [model(name="big", dimension=768), model(dimension=768), model(digest="cd" * 32), model(name="renamed")],
)
def test_another_model_is_refused_and_both_are_named(owner: psycopg.Connection[Any], other: Any) -> None:
    admin.ensure_instance(owner, model())
    with pytest.raises(ModelMismatchError) as raised:
        admin.ensure_instance(owner, other)
    text = str(raised.value)
    for each in (model(), other):
        assert f"'{each.name}' ({each.dimension} dimensions, file {each.digest[:12]})" in text
    assert "\n" not in text


async def test_servers_that_start_at_once_agree_on_one_instance(database: PostgresDatabase) -> None:
    def start() -> UUID:
        with psycopg.connect(database.superuser_conninfo, autocommit=True) as connection:
            return admin.ensure_instance(connection, model()).instance_id

    ids = await asyncio.gather(*(asyncio.to_thread(start) for _ in range(5)))
    assert len(set(ids)) == 1
    assert database.row("SELECT count(*) AS n FROM instance")["n"] == 1


# --- tenants and keys -----------------------------------------------------------------------------


def test_tenants(database: PostgresDatabase, owner: psycopg.Connection[Any]) -> None:
    made = admin.create_tenant(owner, "acme")
    admin.create_tenant(owner, "acme-corp")
    with pytest.raises(AdminError, match="'acme' exists already"):
        admin.create_tenant(owner, "acme")
    assert [tenant.name for tenant in admin.list_tenants(owner)] == ["acme", "acme-corp"]
    assert database.row("SELECT tenant_id FROM tenant WHERE name = 'acme'")["tenant_id"] == made.tenant_id


def test_a_key_is_stored_as_a_digest_only(database: PostgresDatabase, owner: psycopg.Connection[Any]) -> None:
    admin.create_tenant(owner, "acme")
    key, new = new_key("acme")
    admin.create_credential(owner, new)
    row = database.row("SELECT credential::text AS everything, secret_digest FROM credential")
    assert bytes(row["secret_digest"]) == key.digest()
    assert key.secret not in row["everything"]
    assert key.secret not in repr(new)


def test_a_key_for_an_unknown_tenant_is_refused(
    database: PostgresDatabase, owner: psycopg.Connection[Any]
) -> None:
    admin.create_tenant(owner, "acme")
    with pytest.raises(AdminError, match="no tenant 'other'"):
        admin.create_credential(owner, new_key("acme", "other")[1])
    assert database.row("SELECT count(*) AS n FROM credential")["n"] == 0


def test_listing_keys(owner: psycopg.Connection[Any]) -> None:
    for name in ("acme", "acme-corp"):
        admin.create_tenant(owner, name)
    both = new_key("acme", "acme-corp", subject="u1", agent="helper")[1]
    one = new_key("acme-corp")[1]
    admin.create_credential(owner, both)
    admin.create_credential(owner, one)
    assert [row.public_id for row in admin.list_credentials(owner)] == [one.public_id, both.public_id]
    (row,) = admin.list_credentials(owner, "acme")
    assert (row.public_id, row.tenant_names, row.subject, row.agent, row.source_types, row.max_trust) == (
        both.public_id,
        ("acme", "acme-corp"),
        "u1",
        "helper",
        (SourceType.TOOL,),
        TrustLevel.LOW,
    )


def test_revoking_keeps_the_first_time(database: PostgresDatabase, owner: psycopg.Connection[Any]) -> None:
    admin.create_tenant(owner, "acme")
    _, new = new_key("acme")
    admin.create_credential(owner, new)
    first = admin.revoke_credential(owner, new.public_id)
    assert admin.revoke_credential(owner, new.public_id) == first
    assert database.row("SELECT revoke_time FROM credential")["revoke_time"] == first
    with pytest.raises(AdminError, match="no API key"):
        admin.revoke_credential(owner, "nobody")


def test_the_first_tenant_comes_once(database: PostgresDatabase, owner: psycopg.Connection[Any]) -> None:
    assert admin.create_first_tenant(owner, "dev", lambda: new_key("dev")[1])
    assert not admin.create_first_tenant(owner, "dev", lambda: new_key("dev")[1])
    assert not admin.create_first_tenant(owner, "other", lambda: new_key("other")[1])
    assert database.row("SELECT count(*) AS n FROM credential")["n"] == 1


# --- how the service sees them --------------------------------------------------------------------


async def test_the_service_finds_a_key_by_its_id(
    owner: psycopg.Connection[Any], app: Database, store: KeyStore, seals: Seals
) -> None:
    tenants = [admin.create_tenant(owner, name, seals=seals) for name in ("acme", "acme-corp")]
    expires = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    _, new = new_key(
        "acme-corp",
        "acme",
        subject="u1",
        agent="a1",
        expire_time=expires,
        permissions=("write", "recall", "of_a_later_version"),
    )
    credential_id = admin.create_credential(owner, new, seals=seals)
    found = await DatabaseCredentials(app, store).find_api_key(new.public_id)
    assert found is not None
    assert found.credential_id == credential_id
    assert found.secret_digest == new.secret_digest
    assert found.tenants == {tenant.name: tenant.tenant_id for tenant in tenants}
    assert found.permissions == {Permission.WRITE, Permission.RECALL}
    assert found.source_types == {SourceType.TOOL}
    assert found.max_trust is TrustLevel.LOW
    assert (found.subject, found.agent, found.expire_time, found.revoke_time) == ("u1", "a1", expires, None)


async def test_rows_of_before_there_were_seals_are_sealed_once(
    database: PostgresDatabase, owner: psycopg.Connection[Any], app: Database, store: KeyStore, seals: Seals
) -> None:
    source = DatabaseCredentials(app, store)
    admin.create_tenant(owner, "acme")
    early, late = new_key("acme")[1], new_key("acme")[1]
    admin.create_credential(owner, early)
    assert await source.find_api_key(early.public_id) is None
    assert admin.adopt_credentials(owner, seals) == 2
    assert (await source.find_tenants(["acme"])).keys() == {"acme"}
    assert await source.find_api_key(early.public_id) is not None
    # From now on whatever has no seal is somebody else's.
    admin.create_credential(owner, late)
    assert admin.adopt_credentials(owner, seals) == 0
    assert await source.find_api_key(late.public_id) is None
    database.execute("UPDATE credential SET seal = NULL")
    database.execute("UPDATE tenant SET seal = NULL")
    assert admin.adopt_credentials(owner, seals) == 0
    assert await source.find_api_key(early.public_id) is None
    assert await source.find_tenants(["acme"]) == {}
    assert database.rows("SELECT public_id FROM credential WHERE seal IS NOT NULL") == []


async def test_a_declared_restore_seals_names_and_no_keys(
    database: PostgresDatabase, owner: psycopg.Connection[Any], app: Database, store: KeyStore, seals: Seals
) -> None:
    source = DatabaseCredentials(app, store)
    assert admin.adopt_credentials(owner, seals) == 0
    tenant = admin.create_tenant(owner, "acme")
    old = new_key("acme")[1]
    admin.create_credential(owner, old)
    found = restoring.unsealed_tenants(owner)
    assert found == {tenant.tenant_id: "acme"}
    restoring.seal_tenants(owner, {one: seals.tenant(one, name) for one, name in found.items()})
    assert await source.find_tenants(["acme"]) == {"acme": tenant.tenant_id}
    assert await source.find_api_key(old.public_id) is None
    new = new_key("acme")[1]
    admin.create_credential(owner, new, seals=seals)
    assert await source.find_api_key(new.public_id) is not None


@pytest.mark.parametrize("public_id", ["unknown", "", "x'; SET ROLE muniment_owner; --", "ü", "A", "a" * 65])
async def test_what_is_no_key_id_finds_nothing(app: Database, store: KeyStore, public_id: str) -> None:
    assert await DatabaseCredentials(app, store).find_api_key(public_id) is None


async def test_the_service_finds_tenants_by_name(
    owner: psycopg.Connection[Any], app: Database, store: KeyStore, seals: Seals
) -> None:
    tenant_id = admin.create_tenant(owner, "acme", seals=seals).tenant_id
    admin.create_tenant(owner, "acme-corp", seals=seals)
    found = await DatabaseCredentials(app, store).find_tenants(
        ["acme", "nobody", "acm%", "x'; --", "ACME", ""]
    )
    assert found == {"acme": tenant_id}


async def test_a_setting_of_one_lookup_is_gone_in_the_next(
    database: PostgresDatabase, owner: psycopg.Connection[Any], store: KeyStore, seals: Seals
) -> None:
    admin.create_tenant(owner, "acme", seals=seals)
    _, new = new_key("acme")
    admin.create_credential(owner, new, seals=seals)
    pool = database.app(max_size=1)
    await pool.open()
    try:
        assert await DatabaseCredentials(pool, store).find_api_key(new.public_id) is not None
        async with pool.transaction(None) as work:
            assert await work.fetch("credential_read", public_id=new.public_id) == []
    finally:
        await pool.close()


# --- hints ----------------------------------------------------------------------------------------


@pytest.fixture
async def heard(database: PostgresDatabase) -> AsyncIterator[tuple[Hints, asyncio.Queue[Hint]]]:
    """A listener and what it heard."""
    queue: asyncio.Queue[Hint] = asyncio.Queue()
    hints = Hints(database.app_conninfo, queue.put_nowait)
    assert await hints.start()
    yield hints, queue
    await hints.stop()


async def test_a_revoked_key_is_refused_at_once(
    owner: psycopg.Connection[Any], app: Database, database: PostgresDatabase, store: KeyStore, seals: Seals
) -> None:
    admin.create_tenant(owner, "acme", seals=seals)
    key, new = new_key("acme")
    admin.create_credential(owner, new, seals=seals)
    # A lifetime far beyond the test: only the hint can end it.
    authenticator = ApiKeyAuthenticator(DatabaseCredentials(app, store), ttl=600.0)
    told = asyncio.Event()

    def handle(hint: Hint) -> None:
        authenticator.drop(*hint.ids)
        told.set()

    hints = Hints(database.app_conninfo, handle)
    assert await hints.start()
    try:
        assert (await authenticator.authenticate(key.text())).tenants.keys() == {"acme"}
        await asyncio.to_thread(admin.revoke_credential, owner, new.public_id)
        async with asyncio.timeout(2.0):
            await told.wait()
        with pytest.raises(CredentialsInvalid):
            await authenticator.authenticate(key.text())
    finally:
        await hints.stop()


async def test_a_revoked_key_is_refused_without_the_hint_when_the_cache_ends(
    owner: psycopg.Connection[Any], app: Database, store: KeyStore, seals: Seals
) -> None:
    admin.create_tenant(owner, "acme", seals=seals)
    key, new = new_key("acme")
    admin.create_credential(owner, new, seals=seals)
    now = 0.0
    authenticator = ApiKeyAuthenticator(DatabaseCredentials(app, store), clock=lambda: now)
    await authenticator.authenticate(key.text())
    await asyncio.to_thread(admin.revoke_credential, owner, new.public_id)
    now = 5.0
    with pytest.raises(CredentialsInvalid):
        await authenticator.authenticate(key.text())


async def test_an_erasure_tells_the_others_after_its_commit(
    heard: tuple[Hints, asyncio.Queue[Hint]], database: PostgresDatabase, app: Database
) -> None:
    _, queue = heard
    tenant_id, scope_id = database.add_tenant(), uuid4()

    async def tell(*, fail: bool) -> None:
        async with app.transaction(tenant_id) as work:
            await work.fetch("hint_send", payload=keys_destroyed(tenant_id, scope_id))
            if fail:
                raise RuntimeError("rolled back")
            await asyncio.sleep(0.2)
            assert queue.empty()

    with pytest.raises(RuntimeError, match="rolled back"):
        await tell(fail=True)
    await tell(fail=False)
    async with asyncio.timeout(2.0):
        hint = await queue.get()
    assert hint == Hint(HintKind.KEYS_DESTROYED, (str(tenant_id), str(scope_id)))
    await asyncio.sleep(0.2)
    assert queue.empty()


async def test_a_broken_connection_comes_back_and_says_that_something_was_missed(
    heard: tuple[Hints, asyncio.Queue[Hint]], database: PostgresDatabase
) -> None:
    hints, queue = heard
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE usename = 'muniment_app' AND datname = current_database()"
    )
    async with asyncio.timeout(10.0):
        assert (await queue.get()).kind is HintKind.MISSED
    assert hints.listening
    database.execute("SELECT pg_notify('muniment_hint', 'credential_changed abc')")
    async with asyncio.timeout(2.0):
        assert await queue.get() == Hint(HintKind.CREDENTIAL_CHANGED, ("abc",))


async def test_what_cannot_be_understood_or_handled_does_not_end_the_listening(
    database: PostgresDatabase,
) -> None:
    queue: asyncio.Queue[Hint] = asyncio.Queue()

    def handle(hint: Hint) -> None:
        queue.put_nowait(hint)
        raise RuntimeError("bad handler")

    hints = Hints(database.app_conninfo, handle)
    assert await hints.start()
    try:
        for payload in ("", "of_a_later_version x", "credential_changed one", "credential_changed two"):
            database.execute("SELECT pg_notify('muniment_hint', %s)", (payload,))
        async with asyncio.timeout(2.0):
            assert [(await queue.get()).ids for _ in range(2)] == [("one",), ("two",)]
    finally:
        await hints.stop()
