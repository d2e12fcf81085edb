"""A fleet: one agent in every language on one tenant at once, and what must be true when they stop.

Every agent writes, corrects, recalls and erases the same few subjects as fast as it is answered. It keeps
what was acknowledged. Afterwards, read through a second connection:

- at most one memory is live in every slot, and what replaced what is a chain without forks;
- every acknowledged write is there, unless an erasure reached it, which left its tombstone;
- every answered recall has its receipt, with the memories that were returned;
- the audit chain verifies.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contract.verified import findings
from support.service import RunningService

from .drivers import Driver

SLOTS = ("home_city", "employer", "favourite_tea")
ACCEPTED = {"ABORTED", "FAILED_PRECONDITION", "NOT_FOUND", "UNAVAILABLE", "RESOURCE_EXHAUSTED"}
"""What may happen to a call among many; anything else is a fault."""


@dataclass
class Agent:
    """One driver with what it was told."""

    driver: Driver
    subjects: Sequence[str]
    random: random.Random
    written: list[str] = field(default_factory=list)
    recalls: list[tuple[str, list[str]]] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    async def run(self, until: float) -> None:
        """Act until the time is over."""
        while time.monotonic() < until:
            act = self.random.choices((self.write, self.correct, self.recall, self.erase), (4, 3, 4, 1))[0]
            await act()

    async def call(self, method: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """The response, or None for a refusal that may happen."""
        answer = await self.driver.ask(
            {"op": "call", "method": f"MemoryService/{method}", "request": request, "timeout_ms": 20_000}
        )
        if answer["ok"]:
            self.outcomes[method] += 1
            response: dict[str, Any] = answer["response"]
            return response
        code = answer["error"]["code"]
        self.outcomes[f"{method} {code}"] += 1
        assert code in ACCEPTED, (self.driver.recipe.language, method, answer["error"])
        return None

    def scope(self) -> dict[str, str]:
        """One of the subjects."""
        return {"subject": self.random.choice(self.subjects)}

    def item(self) -> dict[str, Any]:
        """A statement that no other is like."""
        text = f"{self.driver.recipe.language} says {self.random.random()}"
        item: dict[str, Any] = {"kind": "MEMORY_KIND_FACT", "content": text}
        if self.random.random() < 0.6:
            item["slot"] = self.random.choice(SLOTS)
        return item

    async def write(self) -> None:
        """Write one or two statements."""
        items = [self.item() for _ in range(self.random.choice((1, 1, 2)))]
        response = await self.call("Write", {"scope": self.scope(), "items": items})
        if response is not None:
            self.written += [one["memory"]["memoryId"] for one in response["results"]]

    async def correct(self) -> None:
        """Supersede what is there, sometimes with an etag."""
        if not self.written:
            return
        request = {"memoryId": self.random.choice(self.written[-20:]), "item": self.item()}
        request["item"].pop("slot", None)
        response = await self.call("Supersede", request)
        if response is not None and "memory" in response:
            self.written.append(response["memory"]["memoryId"])

    async def recall(self) -> None:
        """Recall, and remember what was said."""
        response = await self.call("Recall", {"scope": self.scope(), "query": "who says what", "minScore": 0})
        if response is not None:
            offered = [one["memory"]["memoryId"] for one in response.get("memories", ())]
            self.recalls.append((response["recallId"], offered))

    async def erase(self) -> None:
        """Erase one memory, and now and then a whole subject."""
        if self.random.random() < 0.1:
            await self.call("Erase", {"target": {"scope": {"scope": self.scope()}}})
        elif self.written:
            memory_id = self.random.choice(self.written)
            await self.call("Erase", {"target": {"memories": {"memoryIds": [memory_id]}}})


async def run_fleet(running: RunningService, drivers: Sequence[Driver], seconds: float, seed: int) -> str:
    """Let them act, look at the store, and return one line about it. AssertionError when it is not whole."""
    tenant = f"fleet-{seed}"
    caller = running.caller(tenant)
    for driver in drivers:
        answer = await driver.ask(
            {
                "op": "connect",
                "target": f"127.0.0.1:{running.port}",
                "api_key": caller.key,
                "tenant": tenant,
                "insecure": True,
            }
        )
        assert answer["ok"], answer
    subjects = [f"subject-{number}" for number in range(3)]
    agents = [Agent(driver, subjects, random.Random(f"{seed}/{n}")) for n, driver in enumerate(drivers)]
    until = time.monotonic() + seconds
    await asyncio.gather(*(agent.run(until) for agent in agents))
    for agent in agents:
        assert agent.written, f"the agent in {agent.driver.recipe.language} wrote nothing"
        assert agent.recalls, f"the agent in {agent.driver.recipe.language} recalled nothing"
    check_memories(running, tenant, agents)
    await running.sealed()
    await check_trail(running, caller, agents)
    calls = sum((agent.outcomes for agent in agents), Counter())
    return f"{len(agents)} agents, {sum(calls.values())} calls in {seconds:.0f} s: {dict(calls)}"


def check_memories(running: RunningService, tenant: str, agents: Sequence[Agent]) -> None:
    """Slots, chains, and nothing acknowledged that is lost."""
    tenant_id = running.tenant_id(tenant)
    rows = running.database.rows(
        "SELECT memory_id::text AS id, scope_id, slot, state, supersedes::text AS old,"
        " superseded_by::text AS new FROM memory WHERE tenant_id = %s",
        (tenant_id,),
    )
    tombstones = {
        row["id"]
        for row in running.database.rows(
            "SELECT memory_id::text AS id FROM tombstone WHERE tenant_id = %s", (tenant_id,)
        )
    }
    live = Counter((row["scope_id"], row["slot"]) for row in rows if row["slot"] and row["state"] == 2)
    assert all(count == 1 for count in live.values()), live
    stored = {row["id"]: row for row in rows}
    lost = {each for agent in agents for each in agent.written} - stored.keys() - tombstones
    assert not lost, f"acknowledged and lost: {lost}"
    successors = Counter(row["old"] for row in rows if row["old"] and row["state"] in (2, 3))
    assert all(count == 1 for count in successors.values()), "a memory was replaced twice"
    for row in rows:
        if row["state"] == 3:
            assert row["new"] in stored or row["new"] in tombstones, row
        if row["new"] in stored:
            assert stored[row["new"]]["old"] == row["id"], row


async def check_trail(running: RunningService, caller: Any, agents: Sequence[Agent]) -> None:
    """Receipts of all recalls, and the chain."""
    tenant_id = running.tenant_id(caller.tenant)
    receipts = {
        row["id"]: {str(each) for each in row["memory_ids"]}
        for row in running.database.rows(
            "SELECT recall_id::text AS id, memory_ids FROM audit_event"
            " WHERE tenant_id = %s AND action = 4 AND outcome = 1",
            (tenant_id,),
        )
    }
    for agent in agents:
        for recall_id, offered in agent.recalls:
            assert set(offered) <= receipts[recall_id], recall_id
    found = await findings(running, caller.tenant)
    assert not found, found
