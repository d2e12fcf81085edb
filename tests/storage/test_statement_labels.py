"""What a statement is about in spans and metrics: a table that there is, or nothing."""

from muniment_server.storage.queries import load_statements
from support.postgres import PostgresDatabase


def test_a_collection_is_a_table(database: PostgresDatabase) -> None:
    stored = database.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'muniment'")
    tables = {row["tablename"] for row in stored}
    about = {name: statement.collection for name, statement in load_statements().items()}
    assert {name for name, one in about.items() if one is None} == {"hint_send", "ping", "snapshot_bounds"}
    assert {name: one for name, one in about.items() if one not in tables | {None}} == {}
    # Through a function that returns rows.
    assert (about["scope_heads_behind"], about["verify_named"]) == ("scope", "memory")
