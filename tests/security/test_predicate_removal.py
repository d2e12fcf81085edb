"""The tenant predicate taken out of every named statement: row-level security alone holds."""

import re

import pytest

from muniment_server.storage.queries import compile_statement, load_statements
from security.two_tenants import run_suite
from support.service import RunningService

PREDICATE = re.compile(r"(\w+\.)?tenant_id = %\(tenant_id\)s")


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


async def test_the_suite_finds_no_leak_in_the_statements_as_they_are(service: RunningService) -> None:
    await run_suite(service, "intact")


AT_ONCE = 8
"""Forgetting more of them at once can only leak more; one by one the suite would run a hundred times."""


@pytest.mark.timeout(600)
async def test_a_forgotten_tenant_predicate_leaks_nothing(service: RunningService) -> None:
    statements = statements_with_predicate()
    assert len(statements) > 30
    names = list(statements)
    pools = [service.service.database, service.service.maintenance]
    for start in range(0, len(names), AT_ONCE):
        group = names[start : start + AT_ONCE]
        for pool in pools:
            assert pool is not None
            for name in group:
                pool.statements[name] = compile_statement(name, without_predicate(statements[name]))
        try:
            await run_suite(service, f"r{start}")
        except AssertionError as error:
            raise AssertionError(f"without their predicates, one of {group} leaks: {error}") from error
        finally:
            for pool in pools:
                assert pool is not None
                for name in group:
                    pool.statements[name] = load_statements()[name]
