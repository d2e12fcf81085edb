"""Roles of the database: made once, checked at every start.

`muniment_owner` owns schema and tables and cannot log in; whoever migrates acts as it by SET ROLE.
`muniment_app` serves, `muniment_maintenance` chains the audit trail and cleans up. Neither of the two
may go around row-level security, and `assert_no_bypass` refuses a login that could.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

SCHEMA = "muniment"
OWNER = "muniment_owner"
APP = "muniment_app"
MAINTENANCE = "muniment_maintenance"

LOCK = int.from_bytes(b"muniment")
"""Key of the advisory lock of everything that prepares or migrates a database."""

MIN_SERVER = 160000
MIN_VECTOR = (0, 8)

_ATTRIBUTES = "NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
_LOGIN_SETTINGS: Mapping[str, str] = {
    "jit": "off",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "30s",
}


class RolesError(Exception):
    """Server, extension or roles are not as they must be; the message says what to do."""


class BypassError(RolesError):
    """A login that serves could go around row-level security."""


@dataclass(frozen=True, slots=True)
class Login:
    """What the login of a connection may do.

    privileged: it can make roles, schema and extension here.
    acts_as_owner: it may SET ROLE muniment_owner, so it can migrate.
    """

    name: str
    privileged: bool
    acts_as_owner: bool


def _rows(connection: psycopg.Connection[Any], query: Any, values: Any = ()) -> list[tuple[Any, ...]]:
    with connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(query, values or None).fetchall()


def _row(connection: psycopg.Connection[Any], query: Any, values: Any = ()) -> tuple[Any, ...] | None:
    rows = _rows(connection, query, values)
    return rows[0] if rows else None


def read_login(connection: psycopg.Connection[Any]) -> Login:
    """Classify the login of a connection."""
    ((name, superuser, creator, owner),) = _rows(
        connection,
        """
        SELECT r.rolname, r.rolsuper,
               r.rolcreaterole AND has_database_privilege(current_database(), 'CREATE'),
               (SELECT pg_has_role(session_user, o.oid, 'SET') FROM pg_roles o WHERE o.rolname = %s)
        FROM pg_roles r WHERE r.rolname = session_user
        """,
        (OWNER,),
    )
    return Login(name, privileged=bool(superuser or creator), acts_as_owner=bool(superuser or owner))


def extension_schema(connection: psycopg.Connection[Any]) -> str:
    """The schema that holds the vector extension; `public` where it is not installed yet."""
    row = _row(
        connection,
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'",
    )
    return str(row[0]) if row else "public"


def check_server(connection: psycopg.Connection[Any]) -> None:
    """Raise RolesError unless this is PostgreSQL ≥ 16 in UTF-8 with pgvector ≥ 0.8 at hand."""
    ((number, version, encoding, installed, available),) = _rows(
        connection,
        """
        SELECT current_setting('server_version_num')::integer, current_setting('server_version'),
               current_setting('server_encoding'),
               (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
               (SELECT default_version FROM pg_available_extensions WHERE name = 'vector')
        """,
    )
    if number < MIN_SERVER:
        raise RolesError(f"PostgreSQL {version} is too old: Muniment needs PostgreSQL 16 or newer.")
    if encoding != "UTF8":
        raise RolesError(f"The database is encoded in {encoding}. Create it with ENCODING 'UTF8'.")
    if installed is None and available is None:
        raise RolesError(
            "The database server has no pgvector. Install pgvector 0.8 or newer on it, then start again."
        )
    best = max(_version(text) for text in (installed, available) if text is not None)
    if best < MIN_VECTOR:
        raise RolesError(
            f"pgvector {installed or available} is too old: install 0.8 or newer on the database server."
        )


def check_extension(connection: psycopg.Connection[Any]) -> None:
    """Raise RolesError unless pgvector ≥ 0.8 is installed in this database."""
    check_server(connection)
    row = _row(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if row is None:
        raise RolesError(
            "The extension vector is not in this database. Run `muniment migrate` with a privileged login, "
            "or CREATE EXTENSION vector."
        )
    if _version(row[0]) < MIN_VECTOR:
        raise RolesError(f"pgvector {row[0]} is too old. Run ALTER EXTENSION vector UPDATE as its owner.")


def prepare_database(
    connection: psycopg.Connection[Any], verifiers: Mapping[str, str], *, exclusive: bool
) -> None:
    """Make roles, extension and schema where they are missing; one transaction, safe at the same time.

    connection: privileged, in autocommit mode.
    verifiers: SCRAM verifiers of the login roles, used when a role is made.
    exclusive: nobody else uses this database: take away what every role may do by default.
    Raises RolesError.
    """
    check_server(connection)
    for attempt in range(5):
        try:
            _prepare(connection, verifiers, exclusive)
            return
        except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateObject, psycopg.errors.InternalError):
            # Roles belong to all databases of a server, the lock to one: somebody else was faster.
            if attempt == 4:
                raise
            time.sleep(0.1)


def _prepare(connection: psycopg.Connection[Any], verifiers: Mapping[str, str], exclusive: bool) -> None:
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            _make_roles(connection, verifiers)
            _make_extension(connection)
            _make_schema(connection, exclusive)
            _set_login_settings(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise RolesError(
            f"The login may not prepare the database ({error.diag.message_primary}). Use a superuser or a "
            "login with CREATEROLE that owns the database, or let its administrator prepare it."
        ) from None


def _make_roles(connection: psycopg.Connection[Any], verifiers: Mapping[str, str]) -> None:
    present = {
        name
        for (name,) in _rows(
            connection, "SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", ([OWNER, APP, MAINTENANCE],)
        )
    }
    if OWNER not in present:
        connection.execute(f"CREATE ROLE {OWNER} NOLOGIN {_ATTRIBUTES}".encode())
    for role in (APP, MAINTENANCE):
        if role not in present:
            connection.execute(
                sql.SQL(f"CREATE ROLE {role} LOGIN {_ATTRIBUTES} PASSWORD {{}}").format(verifiers[role])
            )
    if not read_login(connection).acts_as_owner:
        connection.execute(f"GRANT {OWNER} TO SESSION_USER WITH INHERIT FALSE, SET TRUE".encode())


def _make_extension(connection: psycopg.Connection[Any]) -> None:
    row = _row(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if row is None:
        try:
            with connection.transaction():
                connection.execute(b"CREATE EXTENSION vector")
        except psycopg.errors.InsufficientPrivilege:
            raise RolesError(
                "The login may not create the extension vector. Let an administrator run "
                "CREATE EXTENSION vector in this database, then start again."
            ) from None
    elif _version(row[0]) < MIN_VECTOR:
        connection.execute(b"ALTER EXTENSION vector UPDATE")
    check_extension(connection)


def _make_schema(connection: psycopg.Connection[Any], exclusive: bool) -> None:
    if _row(connection, "SELECT FROM pg_namespace WHERE nspname = %s", (SCHEMA,)) is None:
        connection.execute(f"CREATE SCHEMA {SCHEMA} AUTHORIZATION {OWNER}".encode())
    with connection.transaction():
        connection.execute(f"SET LOCAL ROLE {OWNER}".encode())
        connection.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {APP}, {MAINTENANCE}".encode())
        connection.execute(b"RESET ROLE")
    database = sql.Identifier(connection.info.dbname)
    roles = sql.SQL(f"{APP}, {MAINTENANCE}")
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, roles))
    if exclusive:
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
        connection.execute(b"REVOKE CREATE ON SCHEMA public FROM PUBLIC")


def _set_login_settings(connection: psycopg.Connection[Any]) -> None:
    for role in (APP, MAINTENANCE):
        row = _row(
            connection,
            "SELECT s.setconfig FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole"
            " WHERE r.rolname = %s AND s.setdatabase = 0",
            (role,),
        )
        present = dict(entry.split("=", 1) for entry in (row[0] if row else ()))
        path = [part.strip() for part in present.get("search_path", "").split(",") if part.strip()]
        if not path or extension_schema(connection) not in path:
            path = [SCHEMA, *path[1:-1], extension_schema(connection), "pg_temp"]
            names = sql.SQL(", ").join(sql.Identifier(part.strip('"')) for part in path)
            connection.execute(sql.SQL(f"ALTER ROLE {role} SET search_path = {{}}").format(names))
        for name, value in _LOGIN_SETTINGS.items():
            if present.get(name) != value:
                connection.execute(sql.SQL(f"ALTER ROLE {role} SET {name} = {{}}").format(value))


def role_exists(connection: psycopg.Connection[Any], role: str) -> bool:
    """Whether the server has a role of this name."""
    return _row(connection, "SELECT FROM pg_roles WHERE rolname = %s", (role,)) is not None


def read_verifier(connection: psycopg.Connection[Any], role: str) -> str | None:
    """What is stored of a role's password; None where it has none.

    Raises psycopg.errors.InsufficientPrivilege for everybody but superusers.
    """
    row = _row(connection, "SELECT rolpassword FROM pg_authid WHERE rolname = %s", (role,))
    return row[0] if row else None


def other_databases(connection: psycopg.Connection[Any]) -> list[str]:
    """Other databases of this server in which muniment_owner owns something, by name."""
    return [
        name
        for (name,) in _rows(
            connection,
            """
            SELECT DISTINCT d.datname
            FROM pg_shdepend s
            JOIN pg_database d ON d.oid = s.dbid
            JOIN pg_roles r ON r.oid = s.refobjid
            WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype = 'o' AND r.rolname = %s
                  AND d.datname <> current_database()
            ORDER BY d.datname
            """,
            (OWNER,),
        )
    ]


def set_password(connection: psycopg.Connection[Any], role: str, verifier: str) -> None:
    """Give a login role another password, as its SCRAM verifier."""
    connection.execute(
        sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier))
    )


def check_settings(connection: psycopg.Connection[Any]) -> None:
    """Raise RolesError unless unqualified names find the tables and types of the service."""
    ((found,),) = _rows(
        connection,
        "SELECT coalesce(to_regclass('instance') = to_regclass(%s), false)"
        " AND to_regtype('halfvec') IS NOT NULL",
        (f"{SCHEMA}.instance",),
    )
    if not found:
        login, schema = connection.info.user, extension_schema(connection)
        raise RolesError(
            f"The login {login!r} does not find the tables. Run: ALTER ROLE {login} SET search_path = "
            f"{SCHEMA}, {schema}, pg_temp; ALTER ROLE {login} SET jit = off;"
        )


def database_exists(connection: psycopg.Connection[Any], name: str) -> bool:
    """Whether the server has a database of this name."""
    return _row(connection, "SELECT FROM pg_database WHERE datname = %s", (name,)) is not None


def create_database(connection: psycopg.Connection[Any], name: str) -> None:
    """Create a database; harmless when somebody else was faster."""
    with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        connection.execute(sql.SQL("CREATE DATABASE {} ENCODING 'UTF8'").format(sql.Identifier(name)))


def assert_no_bypass(connection: psycopg.Connection[Any]) -> None:
    """Refuse a login that could read or change rows past row-level security, or edit the audit trail.

    Looks at the login and at every role it is a member of: attributes, ownership of the schema or of
    anything in it, powers that lead there, grants on append-only tables; and at the tables, whose
    row-level security must be enabled and forced. Raises BypassError.
    """
    ((login,),) = _rows(connection, "SELECT session_user")
    faults = [text for query in _BYPASS_CHECKS for (text,) in _rows(connection, query, {"schema": SCHEMA})]
    if faults:
        raise BypassError(
            f"The login {login!r} must not serve: {'; '.join(faults)}. Serve with {APP} (or a login that is "
            f"only a member of it), and keep privileged logins for `muniment migrate`."
        )


_BYPASS_CHECKS = (
    """
    SELECT CASE WHEN r.rolname = session_user THEN 'it' ELSE 'its role ' || quote_ident(r.rolname) END
           || ' is ' || concat_ws(', ',
               CASE WHEN r.rolsuper THEN 'SUPERUSER' END,
               CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END,
               CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
               CASE WHEN r.rolreplication THEN 'REPLICATION' END)
    FROM pg_roles r
    WHERE (r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolreplication)
          AND (r.rolname = session_user
               OR (pg_has_role(session_user, r.oid, 'MEMBER')
                   AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)))
    """,
    """
    SELECT 'it is a member of ' || quote_ident(r.rolname)
    FROM pg_roles r
    WHERE r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
          AND pg_has_role(session_user, r.oid, 'MEMBER')
          AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)
    """,
    """
    SELECT DISTINCT 'it owns, or is a member of the owner of, tables in schema ' || quote_ident(n.nspname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND pg_has_role(session_user, c.relowner, 'MEMBER')
          AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)
    """,
    """
    SELECT 'it may create objects in schema ' || quote_ident(n.nspname)
    FROM pg_namespace n
    WHERE n.nspname = %(schema)s AND has_schema_privilege(session_user, n.oid, 'CREATE')
          AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)
    """,
    """
    SELECT 'it may change or delete rows of ' || quote_ident(c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s
          AND c.relname IN ('audit_event', 'audit_chain', 'audit_checkpoint', 'audit_memory')
          AND (has_table_privilege(session_user, c.oid, 'UPDATE, DELETE, TRUNCATE')
               OR has_any_column_privilege(session_user, c.oid, 'UPDATE'))
          AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)
    """,
    """
    SELECT 'row-level security of table ' || quote_ident(c.relname) || ' is not enabled and forced'
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p')
          AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
    """,
)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
