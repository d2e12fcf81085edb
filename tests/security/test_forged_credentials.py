"""API keys and tenants that somebody writes, changes or puts back who can write to the database alone."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from contract.verified import findings
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity import api_key
from muniment_server.identity.principal import Permission
from muniment_server.storage.admin import AdminError, NewCredential, create_credential, revoke_credential
from muniment_server.storage.credentials import DatabaseCredentials
from security.edits import tamper
from security.looking import refused
from support.service import Caller, RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")

REFUSED = ("UNAUTHENTICATED", "CREDENTIALS_INVALID")
FORGED = "credential: the API key"
RENAMED = "credential: the tenant's name is not the one that an operator gave it"


def public_id(caller: Caller) -> str:
    return caller.key.split("_")[1]


def edit(shared: RunningService, statement: str, **values: Any) -> None:
    """Edit a row, and wait for no cache to end."""
    tamper(shared.database, [statement], values)
    shared.service.api_keys.drop_all()


async def test_a_key_that_somebody_wrote_opens_nothing(shared: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Lives in Lyon")
    forged = api_key.generate()
    columns = (
        "tenant_ids, tenant_names, permissions, source_types, max_trust, subject, agent, create_time,"
        " expire_time, revoke_time, seal"
    )
    edit(
        shared,
        f"INSERT INTO credential (credential_id, public_id, secret_digest, label, {columns})"
        f" SELECT gen_random_uuid(), %(id)s, %(digest)s, label, {columns} FROM credential"
        " WHERE public_id = %(genuine)s",
        id=forged.public_id,
        digest=hashlib.sha256(forged.secret.encode()).digest(),
        genuine=public_id(caller),
    )
    await refused(Caller(shared.channel, caller.tenant, forged.text()).recall("u1", "Lyon"), *REFUSED)
    assert await caller.contents("u1", "Lyon") == ["Lives in Lyon"]
    assert [one[: len(FORGED)] for one in await findings(shared, caller.tenant)] == [FORGED]


@pytest.mark.parametrize(
    "change",
    [
        "subject = NULL",
        "subject = 'u2'",
        "agent = NULL",
        "permissions = permissions || 'erase'::text",
        "source_types = '{1,2,3,4,5}'",
        "max_trust = 5",
        "expire_time = NULL",
        "secret_digest = sha256('x')",
        "credential_id = gen_random_uuid()",
        "tenant_names = tenant_names || 'more'::text, tenant_ids = tenant_ids || gen_random_uuid()",
        "tenant_ids = ARRAY[gen_random_uuid()]",
        "seal = NULL",
        "seal = (SELECT seal FROM credential WHERE public_id = %(other)s)",
        "tenant_ids = ARRAY[NULL]::uuid[]",
        "expire_time = 'infinity'",
    ],
)
async def test_a_changed_key_is_refused(shared: RunningService, caller: Caller, change: str) -> None:
    narrow = shared.caller(
        caller.tenant,
        subject="u1",
        agent="a1",
        permissions=[Permission.RECALL],
        source_types=[SourceType.TOOL],
        max_trust=TrustLevel.LOW,
        expire_time=datetime.now(UTC) + timedelta(hours=1),
    )
    await narrow.recall("u1", "anything")
    edit(
        shared,
        f"UPDATE credential SET {change} WHERE public_id = %(id)s",
        id=public_id(narrow),
        other=public_id(caller),
    )
    await refused(narrow.recall("u1", "anything"), *REFUSED)
    if "tenant_ids = ARRAY" not in change:
        assert [one[: len(FORGED)] for one in await findings(shared, caller.tenant)] == [FORGED]
    await caller.recall("u1", "anything")


async def test_a_revoked_key_that_is_put_back_stays_revoked(shared: RunningService, caller: Caller) -> None:
    lost = shared.caller(caller.tenant)
    shared.database.execute("DROP TABLE IF EXISTS pg_temp.kept")
    shared.database.execute(
        "CREATE TEMP TABLE kept AS SELECT * FROM credential WHERE public_id = %s", (public_id(lost),)
    )
    revoke_credential(shared.database.eye, public_id(lost), seals=shared.seals)
    assert await findings(shared, caller.tenant) == []
    tamper(shared.database, ["DELETE FROM credential WHERE public_id = %(id)s"], {"id": public_id(lost)})
    edit(shared, "INSERT INTO credential SELECT * FROM kept")
    await refused(lost.recall("u1", "anything"), *REFUSED)
    assert [one[: len(FORGED)] for one in await findings(shared, caller.tenant)] == [FORGED]


async def test_exchanged_names_of_tenants_are_believed_by_nobody(
    shared: RunningService, caller: Caller
) -> None:
    other = shared.caller(f"t-{uuid4().hex[:12]}")
    await caller.write("u1", "Lives in Lyon")
    source = DatabaseCredentials(shared.service.database, shared.key_store)
    names = [caller.tenant, other.tenant]
    assert await source.find_tenants(names) == {name: shared.tenant_id(name) for name in names}
    for old, new in (
        (caller.tenant, "exchanging"),
        (other.tenant, caller.tenant),
        ("exchanging", other.tenant),
    ):
        edit(shared, "UPDATE tenant SET name = %(new)s WHERE name = %(old)s", old=old, new=new)
    # A token has nothing but the name.
    assert await source.find_tenants(names) == {}
    # An API key has the id, sealed with the rest.
    assert await caller.contents("u1", "Lyon") == ["Lives in Lyon"]
    assert RENAMED in await findings(shared, other.tenant)
    key = api_key.generate()
    new_key = NewCredential(key.public_id, key.digest(), "", (other.tenant,), ("recall",), (), TrustLevel.LOW)
    with pytest.raises(AdminError, match="is not what an operator made"):
        create_credential(shared.database.eye, new_key, seals=shared.seals)
