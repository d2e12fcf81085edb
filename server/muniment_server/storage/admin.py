"""What the owner of the schema reads and writes: the instance, tenants, credentials.

These are acts of an operator, over a connection that may act as `muniment_owner`; none of them is
reachable through the service. Blocking; every function is one transaction. `record` is called in it, once
for every tenant that the act concerns, and writes it into that tenant's audit trail: what it raises undoes
the act. Without it the act stands in no trail. `seals` seals what is made; without it no server takes it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from muniment_server.crypto.credential_seal import COLUMNS, Seals
from muniment_server.domain.administration import Administered, AdministrativeAct
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import SourceType, TrustLevel

from .hints import CHANNEL, Hint, HintKind
from .migrate import as_owner
from .roles import SCHEMA


class AdminError(Exception):
    """An act of the operator is not possible; the message is one line that says why."""


class ModelMismatchError(AdminError):
    """The configured embedding model is not the one of this installation."""


class Model(Protocol):
    """What identifies an embedding model. `setting` is what MUNIMENT_EMBEDDER says to load it."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def setting(self) -> str: ...


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """The identity of an installation, and the embedding model in use.

    restore_epoch: how often a restore was declared. earlier: names of models that it was changed from.
    """

    instance_id: UUID
    model_no: int
    restore_epoch: int
    name: str
    digest: str
    dimension: int
    setting: str
    earlier: tuple[tuple[str, str], ...] = ()


ModelChoice = Model | Callable[[InstanceRow | None], Model]
"""A model, or what loads the right one for what the database says; None is said before the first start."""


def chosen(model: ModelChoice, instance: InstanceRow | None) -> Model:
    """The model of a choice, held against the instance. Raises ModelMismatchError."""
    found = model(instance) if callable(model) else model
    if instance is not None:
        check_model(instance, found)
    return found


@dataclass(frozen=True, slots=True)
class TenantRow:
    """A tenant."""

    tenant_id: UUID
    name: str
    create_time: datetime


@dataclass(frozen=True, slots=True)
class NewCredential:
    """An API key to be stored. secret_digest: SHA-256 of its secret; expire_time: None means never."""

    public_id: str
    secret_digest: bytes = field(repr=False)
    label: str
    tenants: Sequence[str]
    permissions: Sequence[str]
    source_types: Sequence[SourceType]
    max_trust: TrustLevel
    subject: str | None = None
    agent: str | None = None
    expire_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """A stored API key as operators see it; its digest stays in the database."""

    credential_id: UUID
    public_id: str
    label: str
    tenant_names: tuple[str, ...]
    permissions: tuple[str, ...]
    source_types: tuple[SourceType, ...]
    max_trust: TrustLevel
    subject: str | None
    agent: str | None
    create_time: datetime
    expire_time: datetime | None
    revoke_time: datetime | None


Record = Callable[[psycopg.Cursor[Any], UUID, Administered], None]
"""Writes an act into the audit trail of a tenant."""


@contextmanager
def owner_cursor(
    connection: psycopg.Connection[Any], *, locked: bool = False
) -> Iterator[psycopg.Cursor[DictRow]]:
    """A transaction that acts as the owner of the schema; rows are dictionaries."""
    with as_owner(connection, locked=locked), connection.cursor(row_factory=dict_row) as cursor:
        yield cursor


def read_instance(connection: psycopg.Connection[Any]) -> InstanceRow | None:
    """The instance row; every role of the service may read it. None before the first start."""
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            sql.SQL(
                "SELECT i.instance_id, i.model_no, i.restore_epoch, m.name, m.digest, m.dimension, m.setting,"
                " ARRAY(SELECT ARRAY[e.name, e.digest] FROM {schema}.reindex r"
                " JOIN {schema}.embedding_model e ON e.model_no = r.from_no"
                " WHERE r.kind = 1 AND r.state = 3) AS earlier"
                " FROM {schema}.instance i JOIN {schema}.embedding_model m ON m.model_no = i.model_no"
            ).format(schema=sql.Identifier(SCHEMA))
        ).fetchone()
    if row is None:
        return None
    return InstanceRow(**{**row, "earlier": tuple((name, digest) for name, digest in row["earlier"])})


def check_model(instance: InstanceRow, model: Model) -> None:
    """Raise ModelMismatchError unless `model` is the one whose vectors are stored."""
    if (instance.name, instance.digest, instance.dimension) == (model.name, model.digest, model.dimension):
        return
    raise ModelMismatchError(
        f"This installation holds vectors of the embedding model {_describe(instance)}, but the configured "
        f"embedder is {_describe(model)}. Vectors of two models cannot be compared: configure the first "
        "model again, and change it with `muniment reindex start`."
    )


def _describe(model: InstanceRow | Model) -> str:
    return f"{model.name!r} ({model.dimension} dimensions, file {model.digest[:12]})"


def ensure_instance(
    connection: psycopg.Connection[Any], choice: ModelChoice, analyzer: int = 1
) -> InstanceRow:
    """Write the instance row at the first start, compare the model at every later one.

    analyzer: the version of the text analysis.

    Raises ModelMismatchError.
    """
    with as_owner(connection, locked=True):
        instance = read_instance(connection)
        model = chosen(choice, instance)
        if instance is None:
            now = datetime.now(UTC)
            instance = InstanceRow(new_id(), 1, 0, model.name, model.digest, model.dimension, model.setting)
            connection.execute(
                "INSERT INTO embedding_model (model_no, name, digest, dimension, setting, create_time)"
                " VALUES (%s, %s, %s, %s, %s, %s)",
                (1, model.name, model.digest, model.dimension, model.setting, now),
            )
            connection.execute(
                "INSERT INTO instance (instance_id, model_no, restore_epoch, analyzer, create_time)"
                " VALUES (%s, %s, %s, %s, %s)",
                (instance.instance_id, 1, 0, analyzer, now),
            )
    return instance


def create_tenant(
    connection: psycopg.Connection[Any], name: str, record: Record | None = None, seals: Seals | None = None
) -> TenantRow:
    """Make a tenant. The name's form is the caller's business. Raises AdminError when it is taken."""
    with owner_cursor(connection) as cursor:
        return _insert_tenant(cursor, name, record, seals)


def create_first_tenant(
    connection: psycopg.Connection[Any],
    name: str,
    make_key: Callable[[], NewCredential],
    record: Record | None = None,
    seals: Seals | None = None,
) -> bool:
    """Make a tenant and a key for it, unless there is any tenant already; tells whether it did.

    make_key: called under the lock, by one of those who try at the same moment, before its commit.
    """
    with owner_cursor(connection, locked=True) as cursor:
        if cursor.execute("SELECT FROM tenant LIMIT 1").fetchone() is not None:
            return False
        _insert_tenant(cursor, name, record, seals)
        _insert_credential(cursor, make_key(), record, seals)
        return True


def _insert_tenant(
    cursor: psycopg.Cursor[DictRow], name: str, record: Record | None, seals: Seals | None
) -> TenantRow:
    tenant = TenantRow(new_id(), name, datetime.now(UTC))
    seal = None if seals is None else seals.tenant(tenant.tenant_id, name)
    cursor.execute(
        "INSERT INTO tenant (tenant_id, name, create_time, seal) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (name) DO NOTHING",
        (tenant.tenant_id, tenant.name, tenant.create_time, seal),
    )
    if cursor.rowcount == 0:
        raise AdminError(f"The tenant {name!r} exists already.")
    if record is not None:
        record(cursor, tenant.tenant_id, Administered(AdministrativeAct.TENANT_CREATED))
    return tenant


def list_tenants(connection: psycopg.Connection[Any]) -> list[TenantRow]:
    """All tenants by name."""
    with owner_cursor(connection) as cursor:
        cursor.execute("SELECT tenant_id, name, create_time FROM tenant ORDER BY name")
        return [TenantRow(**row) for row in cursor.fetchall()]


def create_credential(
    connection: psycopg.Connection[Any],
    new: NewCredential,
    record: Record | None = None,
    seals: Seals | None = None,
) -> UUID:
    """Store an API key and return its id.

    Raises AdminError when a tenant does not exist, or its row is not what an operator made.
    """
    with owner_cursor(connection) as cursor:
        return _insert_credential(cursor, new, record, seals)


def _insert_credential(
    cursor: psycopg.Cursor[DictRow], new: NewCredential, record: Record | None, seals: Seals | None
) -> UUID:
    credential_id = new_id()
    cursor.execute(
        "SELECT tenant_id, name, seal FROM tenant WHERE name = ANY(%s) ORDER BY name", (list(new.tenants),)
    )
    found = cursor.fetchall()
    for row in found:
        if seals is not None and not seals.tenant_holds(row):
            raise AdminError(
                f"The tenant {row['name']!r} is not what an operator made: `muniment verify` says more."
            )
    tenants: Mapping[str, UUID] = {row["name"]: row["tenant_id"] for row in found}
    for name in new.tenants:
        if name not in tenants:
            raise AdminError(f"There is no tenant {name!r}. Make it with `muniment tenants create {name}`.")
    values: dict[str, Any] = {
        "credential_id": credential_id,
        "public_id": new.public_id,
        "secret_digest": new.secret_digest,
        "label": new.label,
        "tenant_ids": list(tenants.values()),
        "tenant_names": list(tenants),
        "permissions": [str(permission) for permission in new.permissions],
        "source_types": [int(source) for source in new.source_types],
        "max_trust": int(new.max_trust),
        "subject": new.subject,
        "agent": new.agent,
        "create_time": datetime.now(UTC),
        "expire_time": new.expire_time,
    }
    values["seal"] = None if seals is None else seals.credential(values)
    cursor.execute(
        sql.SQL("INSERT INTO credential ({}) VALUES ({})").format(
            sql.SQL(", ").join(map(sql.Identifier, values)), sql.SQL(", ").join(map(sql.Placeholder, values))
        ),
        values,
    )
    if record is not None:
        done = Administered(
            AdministrativeAct.API_KEY_CREATED,
            credential_id,
            new.public_id,
            tuple(new.permissions),
            tuple(new.source_types),
            new.max_trust,
            new.subject,
            new.agent,
            new.expire_time,
        )
        for tenant_id in tenants.values():
            record(cursor, tenant_id, done)
    return credential_id


def list_credentials(connection: psycopg.Connection[Any], tenant: str | None = None) -> list[CredentialRow]:
    """All API keys, newest first; those of one tenant if it is named."""
    with owner_cursor(connection) as cursor:
        cursor.execute(
            "SELECT credential_id, public_id, label, tenant_names, permissions, source_types, max_trust,"
            " subject, agent, create_time, expire_time, revoke_time FROM credential"
            " WHERE %(tenant)s::text IS NULL OR %(tenant)s = ANY(tenant_names)"
            " ORDER BY create_time DESC, credential_id",
            {"tenant": tenant},
        )
        return [
            CredentialRow(
                **{
                    **row,
                    "tenant_names": tuple(row["tenant_names"]),
                    "permissions": tuple(row["permissions"]),
                    "source_types": tuple(SourceType(number) for number in row["source_types"]),
                    "max_trust": TrustLevel(row["max_trust"]),
                }
            )
            for row in cursor.fetchall()
        ]


def revoke_credential(
    connection: psycopg.Connection[Any],
    public_id: str,
    record: Record | None = None,
    seals: Seals | None = None,
) -> datetime:
    """Revoke an API key for good and tell the running servers; returns since when it is revoked.

    seals: by which no earlier state of the row holds any more, whoever puts it back. Revoking twice keeps the
    first time, and is recorded once. Raises AdminError when there is no such key.
    """
    with owner_cursor(connection) as cursor:
        cursor.execute(
            "SELECT credential_id, tenant_ids, permissions, source_types, max_trust, subject, agent,"
            " expire_time, revoke_time FROM credential WHERE public_id = %s FOR UPDATE",
            (public_id,),
        )
        row = cursor.fetchone()
        if row is None:
            raise AdminError("There is no API key with this id. `muniment keys list` shows the ids.")
        hint = Hint(HintKind.CREDENTIAL_CHANGED, (public_id,))
        cursor.execute("SELECT pg_notify(%s, %s)", (CHANNEL, hint.payload()))
        if row["revoke_time"] is not None:
            earlier: datetime = row["revoke_time"]
            if seals is not None:
                seals.revoke(row["credential_id"])
            return earlier
        now = datetime.now(UTC)
        cursor.execute("UPDATE credential SET revoke_time = %s WHERE public_id = %s", (now, public_id))
        if record is not None:
            done = Administered(
                AdministrativeAct.API_KEY_REVOKED,
                row["credential_id"],
                public_id,
                tuple(row["permissions"]),
                tuple(SourceType(number) for number in row["source_types"]),
                TrustLevel(row["max_trust"]),
                row["subject"],
                row["agent"],
                row["expire_time"],
            )
            for tenant_id in row["tenant_ids"]:
                record(cursor, tenant_id, done)
        if seals is not None:
            # Before the commit: a revocation that ends half way leaves a key that is refused.
            seals.revoke(row["credential_id"])
        return now


def adopt_credentials(connection: psycopg.Connection[Any], seals: Seals) -> int:
    """Seal the API keys and tenants of before there were seals, once in the life of a key store.

    From then on a row without a seal is one that somebody else wrote. Returns how many were sealed.
    """
    if seals.adopted():
        return 0
    with owner_cursor(connection, locked=True) as cursor:
        tenants = cursor.execute("SELECT tenant_id, name FROM tenant").fetchall()
        for row in tenants:
            seal = seals.tenant(row["tenant_id"], row["name"])
            cursor.execute("UPDATE tenant SET seal = %s WHERE tenant_id = %s", (seal, row["tenant_id"]))
        credentials = cursor.execute(
            sql.SQL("SELECT {} FROM credential WHERE revoke_time IS NULL").format(
                sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
            )
        ).fetchall()
        for row in credentials:
            cursor.execute(
                "UPDATE credential SET seal = %s WHERE credential_id = %s",
                (seals.credential(row), row["credential_id"]),
            )
    # After the commit: a start that ends in between does all of it again.
    seals.end_adoption()
    return len(tenants) + len(credentials)
