"""The tenant predicate taken out of every named statement: row-level security alone holds."""

import re
from collections.abc import Mapping

import pytest

from muniment_server.storage.queries import Statement, compile_statement, load_statements
from security.two_tenants import run_suite
from support.service import RunningService

PREDICATE = re.compile(r"(\w+\.)?tenant_id = %\(tenant_id\)s")


ELSEWHERE = ("verify_", "chain_", "checkpoint_", "ingest_", "embedding_", "reindex_", "erase_ingest")
"""Conversations have a suite of their own; the others belong to work that is done for all tenants."""
NOT_REACHED = frozenset(
    {
        # For all tenants, too; the last one by what chains events, which may come to it after the suite.
        "backlogs", "erasure_pending", "memory_analysed_otherwise", "memory_edit", "memory_reanalyse",
        "scope_heads_behind", "tombstone_scopes",
        # Of scopes that somebody damaged, of large ones, and of judged merges.
        "erase_stray_embeddings", "erase_stray_postings", "scope_rows", "recall_large", "review_read",
    }
)  # fmt: skip
"""Statements that no call of the suite needs."""


def without_predicate(source: str) -> str:
    """The statement as somebody would write it who forgot the tenant everywhere."""
    return PREDICATE.sub("true", source)


def statements_with_predicate() -> dict[str, str]:
    """Names and texts of the statements that there is something to take out of."""
    return {
        name: statement.source
        for name, statement in sorted(load_statements().items())
        if PREDICATE.search(statement.source)
    }


class Looked(dict[str, Statement]):
    """Statements by name, and which of them somebody wanted."""

    def __init__(self, statements: Mapping[str, Statement]) -> None:
        super().__init__(statements)
        self.wanted: set[str] = set()

    def __getitem__(self, name: str) -> Statement:
        self.wanted.add(name)
        return super().__getitem__(name)


async def test_the_suite_finds_no_leak_in_the_statements_as_they_are(service: RunningService) -> None:
    pools = [service.service.database, service.service.maintenance]
    looked = []
    for pool in pools:
        assert pool is not None
        pool.statements = Looked(pool.statements)
        looked.append(pool.statements)
    await run_suite(service, "intact")
    ran = set().union(*(one.wanted for one in looked))
    others = {name for name in statements_with_predicate() if not name.startswith(ELSEWHERE)}
    assert others - ran <= NOT_REACHED


@pytest.mark.timeout(600)
async def test_a_forgotten_tenant_predicate_leaks_nothing(service: RunningService) -> None:
    statements = statements_with_predicate()
    assert len(statements) > 30
    # One by one what the suite needs; of the others, which run meanwhile or not at all, some at a time.
    needed = [name for name in statements if name not in NOT_REACHED and not name.startswith(ELSEWHERE)]
    others = [name for name in statements if name not in needed]
    groups = [[name] for name in needed]
    groups += [others[start : start + 8] for start in range(0, len(others), 8)]
    pools = [service.service.database, service.service.maintenance]
    for number, group in enumerate(groups):
        for pool in pools:
            assert pool is not None
            for name in group:
                pool.statements[name] = compile_statement(name, without_predicate(statements[name]))
        try:
            await run_suite(service, f"r{number}")
        except AssertionError as error:
            raise AssertionError(f"without their predicates, one of {group} leaks: {error}") from error
        finally:
            for pool in pools:
                assert pool is not None
                for name in group:
                    pool.statements[name] = load_statements()[name]
