"""The rules that keep the schema fit for sharding by tenant, read from the catalogues and the SQL files."""

import re

import psycopg
import pytest

from muniment_server.storage.queries import Statement, load_statements
from support.postgres import PostgresDatabase

GLOBAL_TABLES = {"instance", "embedding_model", "reindex", "tenant", "credential", "schema_migration"}
APPEND_ONLY = {"audit_event", "audit_chain", "audit_checkpoint", "audit_memory"}
STATEMENTS = sorted(load_statements().values(), key=lambda statement: statement.name)


def names(module_database: PostgresDatabase, query: str) -> list[str]:
    return sorted(str(row["name"]) for row in module_database.rows(query))


def tenant_tables(module_database: PostgresDatabase) -> set[str]:
    found = names(
        module_database,
        "SELECT relname AS name FROM pg_class WHERE relnamespace = 'muniment'::regnamespace"
        " AND relkind IN ('r', 'p')",
    )
    return set(found) - GLOBAL_TABLES


def test_every_table_is_known_as_global_or_starts_its_key_with_the_tenant(
    module_database: PostgresDatabase,
) -> None:
    keys = {
        row["name"]: row["columns"]
        for row in module_database.rows(
            """
            SELECT c.relname AS name,
                   array_agg(a.attname::text ORDER BY k.place) FILTER (WHERE a.attname IS NOT NULL) AS columns
            FROM pg_class c
            LEFT JOIN pg_constraint p ON p.conrelid = c.oid AND p.contype = 'p'
            LEFT JOIN unnest(p.conkey) WITH ORDINALITY AS k (number, place) ON true
            LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
            WHERE c.relnamespace = 'muniment'::regnamespace AND c.relkind IN ('r', 'p')
            GROUP BY c.relname
            """
        )
    }
    assert len(keys) > 10
    assert {name for name, columns in keys.items() if not columns or columns[0] != "tenant_id"} == (
        GLOBAL_TABLES - {"tenant"}
    )


def test_the_tenant_column_is_a_uuid_and_never_null(module_database: PostgresDatabase) -> None:
    columns = {
        row["name"]: (row["type"], row["attnotnull"])
        for row in module_database.rows(
            """
            SELECT c.relname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
            WHERE c.relnamespace = 'muniment'::regnamespace AND c.relkind IN ('r', 'p')
            """
        )
    }
    assert columns.keys() == tenant_tables(module_database) | {"tenant"}
    assert set(columns.values()) == {("uuid", True)}


def test_every_index_of_a_tenant_table_starts_with_the_tenant(module_database: PostgresDatabase) -> None:
    """An index over vectors cannot; should one be added, it has to be named here on purpose."""
    rows = module_database.rows(
        """
        SELECT i.indexrelid::regclass::text AS index, c.relname AS relation
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
        WHERE c.relnamespace = 'muniment'::regnamespace AND a.attname IS DISTINCT FROM 'tenant_id'
        """
    )
    assert [row["index"] for row in rows if row["relation"] not in GLOBAL_TABLES] == []


def test_foreign_keys_stay_inside_a_tenant(module_database: PostgresDatabase) -> None:
    rows = module_database.rows(
        """
        SELECT f.conname, f.conrelid::regclass::text AS source, f.confrelid::regclass::text AS target,
               f.confdeltype, f.confupdtype,
               (SELECT array_agg(a.attname::text ORDER BY k.place)
                FROM unnest(f.conkey) WITH ORDINALITY AS k (n, place)
                JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.n) AS columns,
               (SELECT array_agg(a.attname::text ORDER BY k.place)
                FROM unnest(f.confkey) WITH ORDINALITY AS k (n, place)
                JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.n) AS targets
        FROM pg_constraint f
        WHERE f.contype = 'f' AND f.connamespace = 'muniment'::regnamespace
        """
    )
    assert rows
    for row in rows:
        assert row["columns"][0] == row["targets"][0] == "tenant_id", row
        assert row["target"] == "tenant" or row["target"] not in GLOBAL_TABLES, row
        assert row["source"] not in GLOBAL_TABLES, row
        # 'n' and 'd' are SET NULL and SET DEFAULT.
        assert row["confdeltype"] in ("a", "r", "c"), row
        assert row["confupdtype"] in ("a", "r"), row


def test_there_are_no_triggers_rules_sequences_functions_or_inheritance(
    module_database: PostgresDatabase,
) -> None:
    assert (
        names(
            module_database,
            """
        SELECT t.tgname AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace = 'muniment'::regnamespace AND NOT t.tgisinternal
        UNION ALL
        SELECT r.rulename FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
        WHERE c.relnamespace = 'muniment'::regnamespace AND c.relkind <> 'v'
        UNION ALL
        SELECT relname FROM pg_class WHERE relnamespace = 'muniment'::regnamespace AND relkind = 'S'
        UNION ALL
        SELECT proname FROM pg_proc WHERE pronamespace = 'muniment'::regnamespace
        UNION ALL
        SELECT inhrelid::regclass::text FROM pg_inherits
        UNION ALL
        SELECT conname FROM pg_constraint WHERE connamespace = 'muniment'::regnamespace AND contype = 'x'
        """,
        )
        == []
    )


def test_every_constraint_has_a_name_of_our_own(module_database: PostgresDatabase) -> None:
    """On a sharded server constraints cannot be renamed later."""
    constraints = module_database.rows(
        "SELECT conname, conrelid::regclass::text AS relation, contype FROM pg_constraint"
        " WHERE connamespace = 'muniment'::regnamespace AND contype IN ('p', 'u', 'f', 'c')"
    )
    for row in constraints:
        assert row["conname"].startswith(f"{row['relation']}_"), row
        assert row["conname"].endswith(("_pkey", "_key", "_fkey", "_check")), row


def test_row_level_security_is_enabled_and_forced_everywhere(module_database: PostgresDatabase) -> None:
    assert (
        names(
            module_database,
            "SELECT relname AS name FROM pg_class WHERE relnamespace = 'muniment'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT (relrowsecurity AND relforcerowsecurity)",
        )
        == []
    )


def test_policies_are_plain_expressions_without_a_sub_select(module_database: PostgresDatabase) -> None:
    policies = module_database.rows("SELECT * FROM pg_policies WHERE schemaname = 'muniment'")
    for policy in policies:
        text = f"{policy['qual']} {policy['with_check']}".lower()
        assert "select" not in text, policy
    guarded = {policy["tablename"] for policy in policies if policy["policyname"] == "tenant_isolation"}
    assert guarded == tenant_tables(module_database)
    for policy in policies:
        if policy["policyname"] == "tenant_isolation":
            assert policy["qual"] == policy["with_check"]
            assert policy["cmd"] == "ALL"
            assert policy["permissive"] == "PERMISSIVE"
            assert policy["qual"] == (
                "(tenant_id = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid)"
            )
    others = [
        p for p in policies if p["tablename"] not in GLOBAL_TABLES and p["policyname"] != "tenant_isolation"
    ]
    assert others == [], "permissive policies add up: a second one would widen the first"


def test_everything_belongs_to_the_owner(module_database: PostgresDatabase) -> None:
    owners = module_database.rows(
        "SELECT DISTINCT pg_get_userbyid(relowner) AS owner FROM pg_class"
        " WHERE relnamespace = 'muniment'::regnamespace"
    )
    assert [row["owner"] for row in owners] == ["muniment_owner"]


def test_no_extension_but_vector_is_needed(module_database: PostgresDatabase) -> None:
    assert names(module_database, "SELECT extname AS name FROM pg_extension") == ["plpgsql", "vector"]


def test_grants_are_as_narrow_as_promised(module_database: PostgresDatabase) -> None:
    rows = module_database.rows(
        """
        SELECT c.relname AS name, pg_get_userbyid(x.grantee) AS role,
               array_agg(x.privilege_type::text) AS rights
        FROM pg_class c, aclexplode(c.relacl) x
        WHERE c.relnamespace = 'muniment'::regnamespace AND c.relkind IN ('r', 'p')
              AND x.grantee <> c.relowner
        GROUP BY 1, 2
        """
    )
    rights = {(row["name"], row["role"]): set(row["rights"]) for row in rows}
    assert {role for _, role in rights} == {"muniment_app", "muniment_maintenance"}
    for (table, role), granted in rights.items():
        assert granted <= {"SELECT", "INSERT", "UPDATE", "DELETE"}, (table, role)
        if table in APPEND_ONLY:
            assert granted <= {"SELECT", "INSERT"}, (table, role)
        if table in GLOBAL_TABLES:
            assert granted == {"SELECT"}, (table, role)
    assert rights["audit_event", "muniment_app"] == {"SELECT", "INSERT"}
    assert "INSERT" not in rights["audit_event", "muniment_maintenance"]
    # To verify their seals; the digest of 256 random bits opens nothing.
    assert rights["credential", "muniment_maintenance"] == {"SELECT"}


# --- the text of the statements -------------------------------------------------------------------

_REFERENCE = re.compile(
    r"\b(?P<verb>FROM|JOIN|UPDATE|INTO|USING)\s+(?:ONLY\s+)?(?:muniment\.)?(?P<table>[a-z_]+)"
    r"(?:\s+(?:AS\s+)?(?P<alias>[a-z_]+))?"
)


def body(statement: Statement) -> str:
    return re.sub(r"--[^\n]*", "", statement.source)


def faults(text: str, tables: set[str]) -> list[str]:
    """References to tenant tables whose tenant is not bound by a parameter."""
    found = []
    for match in _REFERENCE.finditer(text):
        table, alias = match["table"], match["alias"]
        if table not in tables:
            continue
        if match["verb"] == "INTO":
            columns = re.match(r"\s*\(\s*tenant_id\b", text[match.end("table") :])
            if columns is None or "%(tenant_id)s" not in text:
                found.append(f"INSERT INTO {table} without a bound tenant_id in front")
            continue
        owner = rf"{alias}\." if alias else rf"(?:{table}\.)?(?<![a-z_]\.)"
        if not re.search(rf"(?<![\w.]){owner}tenant_id = %\(tenant_id\)s", text):
            found.append(f"{match['verb']} {table} {alias or ''} does not bind tenant_id")
    return found


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.name)
def test_a_statement_binds_the_tenant_and_shuns_what_a_sharded_server_refuses(
    module_database: PostgresDatabase, statement: Statement
) -> None:
    text = body(statement)
    assert faults(text, tenant_tables(module_database)) == []
    assert not re.search(r"\bset_config\b|\bMERGE\b|\bTRUNCATE\b|\bFULL\s+JOIN\b", text, re.IGNORECASE)
    assert not re.search(r"\bclock_timestamp\b|\bctid\b|\btableoid\b|\bnextval\b", text, re.IGNORECASE)
    assert not re.match(r"\s*COPY\s+(?!\()", text, re.IGNORECASE)
    assert "pg_advisory" not in text
    conflict = re.search(
        r"\bDO\s+UPDATE\s+SET\b(.*?)(?:\bWHERE\b|\bRETURNING\b|$)", text, re.IGNORECASE | re.DOTALL
    )
    if conflict is not None:
        assert not re.search(r"\w\(", re.sub(r"%\(\w+\)s", "", conflict[1])), "a function in DO UPDATE SET"
    if re.search(r"\bINSERT\b", text) and (values := re.search(r"\bVALUES\s*\((.*)\)", text, re.DOTALL)):
        assert "SELECT" not in values[1], "a sub-select in INSERT … VALUES"


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.name)
def test_a_statement_fits_the_schema(module_database: PostgresDatabase, statement: Statement) -> None:
    with psycopg.connect(module_database.app_conninfo) as connection:
        result = connection.pgconn.prepare(b"", statement.text.encode())
        assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message.decode()


def test_the_check_of_statements_finds_what_it_looks_for(module_database: PostgresDatabase) -> None:
    tables = tenant_tables(module_database)
    bound = "tenant_id = %(tenant_id)s"
    assert faults("SELECT 1 FROM memory WHERE memory_id = %(id)s", tables)
    assert faults(f"SELECT 1 FROM memory m JOIN scope s ON s.scope_id = m.scope_id WHERE m.{bound}", tables)
    assert faults("SELECT 1 FROM memory WHERE tenant_id = current_setting('app.tenant_id')::uuid", tables)
    assert faults("INSERT INTO memory (memory_id, tenant_id) VALUES (%(id)s, %(tenant_id)s)", tables)
    assert faults(f"DELETE FROM posting p WHERE x.{bound}", tables)
    assert not faults(f"DELETE FROM posting WHERE {bound}", tables)
    assert not faults(f"SELECT 1 FROM memory m JOIN scope s ON s.{bound} WHERE m.{bound}", tables)
