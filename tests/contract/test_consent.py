"""What a subject allows: it holds at once and everywhere, outlives erasures, and nobody changes it unseen."""

import asyncio
from typing import Any

import pytest

from contract.stored import OK, Stored, refused
from contract.verified import findings
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    correction_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    subject_pb2,
    write_pb2,
)
from muniment_server.domain.model import SourceType
from muniment_server.identity.principal import Permission
from support.service import (
    EVENT,
    FACT,
    PREFERENCE,
    Caller,
    RunningService,
    error_info,
    item,
    request_id,
    scope,
    violations,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL, NECESSARY, NONE = (
    subject_pb2.CONSENT_LEVEL_ALL,
    subject_pb2.CONSENT_LEVEL_NECESSARY,
    subject_pb2.CONSENT_LEVEL_NONE,
)
DROPPED = write_pb2.WRITE_OUTCOME_DROPPED
SET_CONSENT = 16


async def decide(caller: Caller, subject: str = "u1", **fields: Any) -> subject_pb2.SetConsentResponse:
    return await caller.call("SetConsent", subject_pb2.SetConsentRequest(scope=scope(subject), **fields))


async def consent(caller: Caller, subject: str = "u1") -> subject_pb2.Consent:
    request = subject_pb2.GetConsentRequest(scope=scope(subject))
    return (await caller.call("GetConsent", request)).consent


async def rules(caller: Caller, *items: Any, **narrowing: str) -> list[str]:
    """The rule by which each item was dropped, or an empty text."""
    results = (await caller.write("u1", *items, **narrowing)).results
    for result in results:
        assert (result.outcome == DROPPED) == bool(result.rule), result
        if result.rule:
            assert result.explanation
            assert [(one.gate, one.rule) for one in result.findings] == [("consent", result.rule)]
    return [result.rule for result in results]


class TestWriting:
    async def test_nobody_decided(self, caller: Caller) -> None:
        found = await consent(caller)
        assert (found.level, found.HasField("update_time")) == (0, False)
        assert await rules(caller, "Likes tea") == [""]

    async def test_nothing(self, shared: RunningService, caller: Caller, stored: Stored) -> None:
        await caller.write("u1", "Likes tea")
        answer = await decide(caller, level=NONE)
        assert (answer.consent.level, answer.HasField("erasure")) == (NONE, False)
        assert await rules(caller, "Likes figs") == ["CONSENT_NONE"]
        assert stored.count("memory") == 1
        recalled = await caller.recall("u1", "Likes tea", min_score=0, token_budget=500)
        assert (list(recalled.memories), recalled.no_relevant_memory) == ([], True)
        assert recalled.packed_context.text == ""
        assert [(one.reason, one.count) for one in recalled.left_out] == [
            (recall_pb2.LEFT_OUT_REASON_CONSENT, 1)
        ]
        listed = await caller.call("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope("u1")))
        assert len(listed.memories) == 1
        assert (await caller.get(listed.memories[0].memory_id)).memory.content == "Likes tea"
        await decide(caller, level=ALL)
        assert await rules(caller, "Likes figs") == [""]
        assert len(await caller.contents("u1", "Likes tea figs", min_score=0)) == 2
        assert await findings(shared, caller.tenant) == []

    async def test_only_what_is_necessary(self, caller: Caller) -> None:
        await decide(caller, level=NECESSARY, necessary_kinds=[PREFERENCE])
        assert await rules(
            caller, item("Likes tea", PREFERENCE), item("Lives in Nice", FACT), item("Met Bo", EVENT)
        ) == ["", "CONSENT_NOT_NECESSARY", "CONSENT_NOT_NECESSARY"]
        assert await caller.contents("u1", "tea Nice Bo", min_score=0) == ["Likes tea"]
        assert list((await consent(caller)).necessary_kinds) == [PREFERENCE]

    async def test_a_session_that_is_not_to_be_remembered(self, caller: Caller) -> None:
        await decide(caller, forget_session="s1")
        quoted = item("Likes figs", provenance=memory_pb2.Provenance(session="s1"))
        assert await rules(caller, "Likes tea", quoted) == ["", "CONSENT_SESSION"]
        assert await rules(caller, "Likes rye", session="s1") == ["CONSENT_SESSION"]
        assert await rules(caller, "Likes rye", session="s2") == [""]
        await decide(caller, level=ALL, forget_session="s2")
        found = await consent(caller)
        assert (found.level, list(found.forgotten_sessions)) == (ALL, ["s1", "s2"])

    async def test_a_correction_and_what_comes_back_ask_as_well(self, caller: Caller, stored: Stored) -> None:
        old, other = (
            result.memory for result in (await caller.write("u1", "Lives in Nice", "Likes tea")).results
        )
        await caller.call("Retract", correction_pb2.RetractRequest(memory_id=other.memory_id))
        await decide(caller, level=NONE)
        answer = await caller.supersede(old.memory_id, "Lives in Lyon")
        assert (answer.outcome, answer.rule) == (DROPPED, "CONSENT_NONE")
        error = await refused(
            caller.call("Restore", correction_pb2.RestoreRequest(memory_id=other.memory_id)),
            "INVALID_ARGUMENT",
            "CONTENT_REFUSED",
        )
        assert violations(error) == ["memory_id"]
        assert stored.live() == {old.memory_id}

    async def test_what_an_earlier_revision_says_is_asked_as_well(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        for source, session in ((SourceType.AGENT_INFERRED, "s1"), (SourceType.USER_STATED, "s2")):
            said = memory_pb2.Provenance(source_type=int(source), session=session)
            written = await caller.write("u1", item("Allergic to nuts", provenance=said))
        memory_id = written.results[0].memory.memory_id
        await caller.call("Retract", correction_pb2.RetractRequest(memory_id=memory_id))
        await decide(caller, forget_session="s1")
        before = stored.memory(memory_id)
        error = await refused(
            caller.call("Restore", correction_pb2.RestoreRequest(memory_id=memory_id, revision=1)),
            "INVALID_ARGUMENT",
            "CONTENT_REFUSED",
        )
        assert error_info(error).metadata["rule"] == "CONSENT_SESSION"
        assert stored.memory(memory_id) == before
        # The other session was not forgotten.
        await caller.call("Restore", correction_pb2.RestoreRequest(memory_id=memory_id, revision=2))
        row = stored.memory(memory_id)
        assert (row["state"], row["origin_session"]) == (memory_pb2.MEMORY_STATE_ACTIVE, "s2")
        assert await findings(shared, caller.tenant) == []

    async def test_it_is_one_subject_s_own(self, caller: Caller) -> None:
        await decide(caller, "u2", level=NONE)
        assert await rules(caller, "Likes tea") == [""]


class TestWithdrawing:
    async def test_everything_is_erased_with_its_keys_and_the_decision_stays(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        await caller.write("u1", "Likes tea", "Likes figs")
        fixed = request_id()
        answer = await decide(caller, level=NONE, erase=True, request_id=fixed)
        assert (answer.erasure.counts.memories, answer.erasure.keys_destroyed) == (2, 1)
        assert answer.erasure.reason == 2
        assert answer.erasure.signature
        assert stored.count("memory") == 0
        again = await decide(caller, level=NONE, erase=True, request_id=fixed)
        assert again.erasure.erasure_id == answer.erasure.erasure_id
        assert (await consent(caller)).level == NONE
        assert await rules(caller, "Likes tea") == ["CONSENT_NONE"]
        (event,) = stored.events(SET_CONSENT, OK)
        assert event["payload"]["details"]["consent_changed"]["erasure_id"] == answer.erasure.erasure_id
        assert len(stored.events(3, OK)) == 1
        assert await findings(shared, caller.tenant) == []

    async def test_what_is_not_necessary_is_erased(self, caller: Caller) -> None:
        await caller.write("u1", item("Likes tea", PREFERENCE), item("Lives in Nice"), item("Met Bo", EVENT))
        answer = await decide(caller, level=NECESSARY, necessary_kinds=[PREFERENCE, EVENT], erase=True)
        assert (answer.erasure.counts.memories, answer.erasure.keys_destroyed) == (1, 0)
        assert sorted(await caller.contents("u1", "tea Nice Bo", min_score=0)) == ["Likes tea", "Met Bo"]

    async def test_a_session_is_erased(self, shared: RunningService, caller: Caller) -> None:
        await caller.write("u1", "Likes tea", session="s1")
        await caller.write("u1", item("Likes figs", provenance=memory_pb2.Provenance(session="s1")))
        await caller.write("u1", "Likes rye")
        answer = await decide(caller, forget_session="s1", erase=True)
        assert answer.erasure.counts.memories == 2
        assert await caller.contents("u1", "Likes", min_score=0) == ["Likes rye"]
        assert await findings(shared, caller.tenant) == []

    async def test_what_a_session_said_first_is_erased_with_it(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        for source, session in ((SourceType.AGENT_INFERRED, "s1"), (SourceType.USER_STATED, "s2")):
            said = memory_pb2.Provenance(source_type=int(source), session=session)
            await caller.write("u1", item("Allergic to nuts", provenance=said))
        assert [row["origin_session"] for row in stored.rows("memory_revision")] == ["s1"]
        answer = await decide(caller, forget_session="s1", erase=True)
        assert answer.erasure.counts.memories == 1
        assert (stored.count("memory"), stored.count("memory_revision")) == (0, 0)
        assert await findings(shared, caller.tenant) == []

    async def test_it_outlives_any_erasure(self, shared: RunningService, caller: Caller) -> None:
        await caller.write("u1", "Likes tea")
        await decide(caller, level=NONE, forget_session="s1")
        await caller.erase_subject("u1")
        found = await consent(caller)
        assert (found.level, list(found.forgotten_sessions)) == (NONE, ["s1"])
        assert await findings(shared, caller.tenant) == []


class TestAtTheSameMoment:
    async def test_writers_lose_against_a_withdrawal(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        await caller.write("u1", "Likes tea")
        writes = [asyncio.create_task(caller.write("u1", f"Likes number {number}")) for number in range(30)]
        await asyncio.wait(writes, return_when=asyncio.FIRST_COMPLETED)
        await decide(caller, level=NONE, erase=True)
        after = await caller.write("u1", "Likes figs")
        assert after.results[0].rule == "CONSENT_NONE"
        await asyncio.gather(*writes)
        assert stored.count("memory") == 0
        assert await findings(shared, caller.tenant) == []


class TestRefusals:
    async def test_a_decision_must_be_one(self, caller: Caller) -> None:
        for fields, at_fault in (
            ({}, ["level"]),
            ({"level": NECESSARY}, ["necessary_kinds"]),
            ({"level": ALL, "necessary_kinds": [FACT]}, ["necessary_kinds"]),
        ):
            assert violations(await refused(decide(caller, **fields), "INVALID_ARGUMENT")) == at_fault

    async def test_permissions_and_bindings(self, shared: RunningService, caller: Caller) -> None:
        bound = shared.caller(caller.tenant, subject="u1")
        assert (await decide(bound, level=ALL)).consent.level == ALL
        await refused(decide(bound, "u2", level=ALL), "PERMISSION_DENIED")
        await refused(consent(bound, "u2"), "PERMISSION_DENIED")
        admin = shared.caller(caller.tenant, permissions=(Permission.ADMIN,))
        assert (await decide(admin, level=NONE)).consent.level == NONE
        await refused(decide(admin, level=NONE, erase=True), "PERMISSION_DENIED")
        writer = shared.caller(caller.tenant, permissions=(Permission.WRITE, Permission.RECALL))
        await refused(decide(writer, level=ALL), "PERMISSION_DENIED")
        assert (await consent(writer)).level == NONE
        assert (await consent(shared.caller())).level == 0


class TestBehindTheService:
    @pytest.mark.parametrize(
        "change",
        ["consent = NULL", "consent = convert_to(replace(convert_from(consent, 'UTF8'), '3', '1'), 'UTF8')"],
    )
    async def test_a_changed_decision_is_refused_and_found(
        self, shared: RunningService, caller: Caller, change: str
    ) -> None:
        await caller.write("u1", "Likes tea")
        await decide(caller, level=NONE)
        shared.database.execute(
            f"UPDATE scope SET {change} WHERE tenant_id = %s", (shared.tenant_id(caller.tenant),)
        )
        why = ("DATA_LOSS", "INTEGRITY_VIOLATION")
        await refused(caller.write("u1", "Likes figs"), *why)
        assert not (await caller.recall("u1", "Likes tea")).memories
        await refused(consent(caller), *why)
        await refused(decide(caller, level=ALL), *why)
        found = await findings(shared, caller.tenant)
        assert any(one.startswith("scope_seal") for one in found)
        assert any(one.startswith("consent") for one in found)
        # Erasing mends the row, and takes the decision from the trail.
        await caller.erase_subject("u1")
        assert (await consent(caller)).level == NONE
        assert await rules(caller, "Likes tea") == ["CONSENT_NONE"]
        assert await findings(shared, caller.tenant) == []

    async def test_a_row_taken_away_is_refused_and_found(
        self, shared: RunningService, caller: Caller
    ) -> None:
        await decide(caller, level=NONE)
        shared.database.execute("DELETE FROM scope WHERE tenant_id = %s", (shared.tenant_id(caller.tenant),))
        await refused(caller.write("u1", "Likes figs"), "DATA_LOSS", "INTEGRITY_VIOLATION")
        await refused(consent(caller), "DATA_LOSS", "INTEGRITY_VIOLATION")
        await caller.erase_subject("u1")
        assert (await consent(caller)).level == NONE


class TestDescribing:
    async def test_what_is_stored_is_told_in_plain_words(
        self, shared: RunningService, caller: Caller
    ) -> None:
        stated = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED)
        expiring = item("Is on holiday", provenance=stated)
        expiring.ttl.FromSeconds(86_400)
        await caller.write(
            "u1",
            item("Likes tea", PREFERENCE, provenance=stated),
            item("Likes figs", PREFERENCE, provenance=stated),
            expiring,
            "Lives in Nice",
        )
        await decide(caller, level=ALL, forget_session="s1")

        async def described(language: str) -> subject_pb2.DescribeSubjectResponse:
            request = subject_pb2.DescribeSubjectRequest(scope=scope("u1"), language=language)
            return await caller.call("DescribeSubject", request)

        english, chinese = await described("fr-CA"), await described("zh-Hans-CN")
        assert (english.language, chinese.language) == ("en", "zh")
        counted = [(one.kind, one.source_type, one.count, one.expiring_count) for one in english.holdings]
        user, agent = memory_pb2.SOURCE_TYPE_USER_STATED, memory_pb2.SOURCE_TYPE_AGENT_INFERRED
        assert counted == [(PREFERENCE, user, 2, 0), (FACT, user, 1, 1), (FACT, agent, 1, 0)]
        assert english.holdings[1].HasField("last_expire_time")
        assert "2 preferences were recorded on" in english.holdings[0].sentence
        assert "because you said so" in english.holdings[0].sentence
        assert english.summary.startswith("4 memories are stored about you.")
        assert "1 conversation(s) are not to be remembered" in english.summary
        assert english.summary.endswith("not in the language that was asked for.")
        for spoken in ("", "en", "EN-gb"):
            assert "asked for" not in (await described(spoken)).summary
        assert "共保存了 4 条记忆" in chinese.summary
        assert "2 条偏好，由您本人告知" in chinese.holdings[0].sentence
        assert english.consent.level == ALL
        actions = audit_pb2.AuditFilter(actions=[audit_pb2.AUDIT_ACTION_DESCRIBE_SUBJECT])
        read = await caller.call("Audit", memory_service_pb2.AuditRequest(filter=actions))
        assert len(read.events) == 5

    async def test_nothing_is_stored_and_others_are_out_of_reach(
        self, shared: RunningService, caller: Caller
    ) -> None:
        await caller.write("u1", "Likes tea", agent="a1")
        for stranger, summary in (
            (shared.caller(), "Nothing is stored about you."),
            (shared.caller(caller.tenant, agent="a2"), "Nothing is stored about you."),
            (shared.caller(caller.tenant, agent="a1"), "1 memory is stored about you."),
        ):
            request = subject_pb2.DescribeSubjectRequest(scope=scope("u1"))
            assert (await stranger.call("DescribeSubject", request)).summary.startswith(summary)
        bound = shared.caller(caller.tenant, subject="u2", source_types=(SourceType.TOOL,))
        await refused(
            bound.call("DescribeSubject", subject_pb2.DescribeSubjectRequest(scope=scope("u1"))),
            "PERMISSION_DENIED",
        )
