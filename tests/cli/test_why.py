"""`muniment why` and `muniment audit` against a running server."""

import asyncio
import json
from pathlib import Path
from uuid import uuid4

import pytest

from muniment_server._gen.muniment.v1 import audit_pb2, memory_service_pb2
from muniment_server.cli import app as cli
from muniment_server.identity.principal import Permission
from support.history import Copy
from support.service import Caller, RunningService, item, scope

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class Shell:
    """Runs commands as an operator would, with the service's address and a key in the environment."""

    def __init__(
        self, service: RunningService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        auditor = service.caller("acme", permissions=[Permission.AUDIT])
        monkeypatch.setenv("MUNIMENT_TARGET", f"127.0.0.1:{service.port}")
        monkeypatch.setenv("MUNIMENT_TENANT", "acme")
        monkeypatch.setenv("MUNIMENT_API_KEY", auditor.key)
        self.capsys = capsys

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = await asyncio.to_thread(cli.run, arguments)
        output = self.capsys.readouterr()
        return code, output.out, output.err

    async def ok(self, *arguments: str) -> str:
        code, out, err = await self.run(*arguments)
        assert code == 0, err
        return out


@pytest.fixture
def shell(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell(service, monkeypatch, capsys)


async def recalled(caller: Caller, **fields: object) -> memory_service_pb2.RecallResponse:
    return await caller.call(
        "Recall",
        memory_service_pb2.RecallRequest(scope=scope("u1"), query="tea cat carpenter Lyon", **fields),
        traceparent=PARENT,
    )


async def test_why_tells_an_sre_what_stood_in_the_prompt(service: RunningService, shell: Shell) -> None:
    caller = service.caller("acme")
    texts = ["Likes green tea", "Has a cat", "Works as a carpenter", "Lives in Lyon", "Plays the cello"]
    written = await caller.write("u1", *texts)
    answer = await recalled(caller, limit=3, token_budget=120, min_score=0, explain=True, near_miss_limit=5)
    ids = [one.memory.memory_id for one in answer.memories]
    await caller.call(
        "ReportUse",
        memory_service_pb2.ReportUseRequest(
            recall_id=answer.recall_id,
            memory_ids=ids[:1],
            outcome=audit_pb2.USE_OUTCOME_HELPFUL,
            model="some-model",
            prompt_ref="run-\x1b[31m7",
        ),
    )
    successor = (await caller.supersede(ids[0], "Likes black coffee")).memory.memory_id
    await caller.erase_memories(ids[1])
    await service.sealed()

    told = json.loads(await shell.ok("why", TRACE, "--json"))
    assert told["trace_id"] == TRACE
    assert [event["action"] for event in told["events"]] == ["recall"]
    (recall,) = told["recalls"]
    assert recall["recall_id"] == answer.recall_id
    assert recall["scope"] == {"subject": "u1", "space": None, "agent": None, "session": None}
    assert recall["scope_id"]
    assert recall["trace_id"] == TRACE
    assert recall["sequence"] == 2
    assert [one["memory_id"] for one in recall["memories"]] == ids
    assert [one["rank"] for one in recall["memories"]] == [1, 2, 3]
    legs = {leg["leg"] for one in recall["memories"] for leg in one["legs"]}
    assert legs == {"vector", "lexical", "entity"}
    assert [one["reported_used"] for one in recall["memories"]] == [True, False, False]
    assert [one["since"]["state"] for one in recall["memories"]] == ["superseded", "erased", "unchanged"]
    assert recall["memories"][0]["since"]["by"] == successor
    assert recall["left_out"]["limit"] == 2
    assert recall["uses"][0]["outcome"] == "helpful"
    assert recall["limit"] == 3
    assert recall["token_budget"] == 120
    assert recall["left_out_incomplete"] is False
    basis = recall["score_basis"]
    assert basis["cosine_high"] == answer.score_basis.cosine_high
    assert (basis["leg_count"], basis["threshold"]) == (7, answer.score_basis.threshold)
    for one, told_ in zip(answer.memories, recall["memories"], strict=True):
        assert told_["evidence"] == pytest.approx(one.evidence, abs=1e-6)
        assert [(leg["value"], leg["weight"]) for leg in told_["legs"]] == [
            (pytest.approx(leg.value, abs=1e-6), pytest.approx(leg.weight, abs=1e-6))
            for leg in one.leg_scores
        ]
    assert [one["reason"] for one in recall["near_misses"]] == ["limit", "limit"]

    text = await shell.ok("why", answer.recall_id)
    for expected in (
        answer.recall_id,
        TRACE,
        f"  1  {ids[0]}  revision 1",
        f"superseded by {successor}",
        "since erased",
        "lexical",
        "2 limit",
        "no minimum score",
        "  scores       own measure 0.500 meaning + 0.500 words",
        "with weight 0.500, gave",
        f"evidence {recall['near_misses'][0]['evidence']:.3f}  limit",
        "helpful",
        "some-model",
        "reported used",
    ):
        assert expected in text, expected
    assert "\x1b" not in text
    for content in (*texts, "coffee"):
        assert content not in text
    assert await shell.ok("why", PARENT, "--no-fate")
    assert len(written.results) == 5


async def test_why_names_what_was_refused(service: RunningService, shell: Shell) -> None:
    caller = service.caller("acme")
    memory_id = (await caller.write("u1", "Likes green tea", "Has a cat")).results[0].memory.memory_id
    Copy(service.database, Path()).tamper(
        "UPDATE memory SET trust = 5 WHERE memory_id = %(id)s", id=memory_id
    )
    answer = await recalled(caller)
    assert list(answer.seal_broken_memory_ids) == [memory_id]
    text = await shell.ok("why", answer.recall_id)
    assert "Refused" in text
    assert memory_id in text
    told = json.loads(await shell.ok("why", TRACE, "--json"))
    assert told["recalls"][0]["seal_broken_memory_ids"] == [memory_id]
    assert {event["action"] for event in told["events"]} == {"recall", "integrity_check"}


async def test_why_of_nothing_relevant_and_of_an_erased_subject(
    service: RunningService, shell: Shell
) -> None:
    caller = service.caller("acme")
    await caller.write("u1", "Likes green tea")
    empty = await caller.recall("u1", "orbit of Triton")
    text = await shell.ok("why", empty.recall_id)
    assert "nothing in the scope was relevant" in text
    assert "only the caller knows" in text
    await caller.erase_subject("u1")
    assert "labels can no longer be read" in await shell.ok("why", empty.recall_id)


async def test_what_cannot_be_explained_is_said_in_one_line(
    service: RunningService, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = await shell.run("why", str(uuid4()))
    assert (code, out) == (1, "")
    assert "RECALL_NOT_FOUND" in err
    code, _, err = await shell.run("why", "0" * 32)
    assert (code, len(err.splitlines())) == (1, 1)
    code, _, err = await shell.run("why", "nonsense")
    assert (code, "trace id" in err) == (1, True)
    monkeypatch.setenv("MUNIMENT_API_KEY", "mnm_wrong")
    code, _, err = await shell.run("why", "0" * 32)
    assert (code, "CREDENTIALS_INVALID" in err) == (1, True)
    monkeypatch.delenv("MUNIMENT_API_KEY")
    code, _, err = await shell.run("why", "0" * 32)
    assert (code, "MUNIMENT_API_KEY" in err) == (1, True)
    monkeypatch.setenv("MUNIMENT_API_KEY", "mnm_x")
    code, _, err = await shell.run("why", "0" * 32, "--target", "127.0.0.1:1")
    assert (code, "does not answer" in err) == (1, True)


async def test_the_trail_is_listed(service: RunningService, shell: Shell) -> None:
    caller = service.caller("acme")
    written = await caller.write("u1", item("Likes green tea"))
    await caller.write("u2", item("Plays the cello"))
    answer = await recalled(caller)
    table = await shell.ok("audit", "list")
    assert table.splitlines()[0].split("\t")[:4] == ["TIME", "SEQ", "ACTION", "OUTCOME"]
    assert [line.split("\t")[2] for line in table.splitlines()[1:]] == ["recall", "write", "write"]
    assert "cello" not in table
    one = await shell.ok(
        "audit", "list", "--memory", written.results[0].memory.memory_id, "--action", "write"
    )
    assert one.count("\twrite\t") == 1
    found = json.loads(await shell.ok("audit", "list", "--recall", answer.recall_id, "--json"))
    assert [event["action"] for event in found] == ["AUDIT_ACTION_RECALL"]
    assert "\tu2\t" in await shell.ok("audit", "list", "--subject", "u2", "--action", "write")
    assert await shell.ok("audit", "list", "--until", "2000-01-01") == ""
    assert len((await shell.ok("audit", "list", "--limit", "2")).splitlines()) == 3
    code, _, err = await shell.run("audit", "list", "--principal", "a" * 20)
    assert (code, "`keys list` shows" in err) == (1, True)
    code, _, err = await shell.run("audit", "list", "--since", "yesterday")
    assert (code, "--since" in err) == (1, True)


async def test_the_trail_is_exported_and_checked(
    service: RunningService, shell: Shell, tmp_path: Path
) -> None:
    caller = service.caller("acme")
    for number in range(5):
        await caller.write("u1", f"Number {number}")
    file = tmp_path / "trail.jsonl"
    code, _, err = await shell.run("audit", "export", "--out", str(file))
    assert (code, "6 events hold together" in err) == (0, True)
    lines = file.read_text("utf-8").splitlines()
    assert json.loads(lines[0])["tenant"] == "acme"
    assert "Number" not in file.read_text("utf-8")
    code, _, err = await shell.run("audit", "export", "--out", str(file))
    assert (code, "exists already" in err) == (1, True)
    assert (await shell.run("audit", "verify", str(file)))[0] == 0
    (key,) = json.loads(lines[0])["signing_keys"].values()
    assert (await shell.run("audit", "verify", str(file), "--key", key))[0] == 0
    assert (await shell.run("audit", "verify", str(file), "--key", "00" * 32))[0] == 1

    def wrong(name: str, changed: list[str]) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(changed) + "\n", "utf-8")
        return path

    edited = [line.replace('\\"outcome\\":1', '\\"outcome\\":2') for line in lines]
    assert edited != lines
    swapped = [*lines[:2], lines[3], lines[2], *lines[4:]]
    for name, changed in {
        "edited": edited,
        "dropped": [*lines[:3], *lines[4:]],
        "swapped": swapped,
        "cut off": lines[:-1],
        "header gone": lines[1:],
        "garbage": [*lines[:3], "{]", *lines[3:]],
        "empty": [],
    }.items():
        code, out, _ = await shell.run("audit", "verify", str(wrong(name, changed)), "--json")
        assert code == 1, name
        assert json.loads(out)["faults"], name
    whole = await shell.ok("audit", "export", "--from", "2", "--to", "4")
    assert [json.loads(line).get("sequence") for line in whole.splitlines()[1:4]] == [2, 3, 4]


async def test_a_broken_chain_makes_the_export_fail(service: RunningService, shell: Shell) -> None:
    caller = service.caller("acme")
    for number in range(5):
        await caller.write("u1", f"Number {number}")
    await service.sealed()
    Copy(service.database, Path()).tamper("UPDATE audit_chain SET digest = sha256('x') WHERE sequence = 2")
    code, _, err = await shell.run("audit", "export")
    assert code == 1
    assert "event 2" in err
