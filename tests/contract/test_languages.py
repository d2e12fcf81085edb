"""With the real model: every script is found by its words, off-topic queries find nothing, long texts do."""

from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from contract.across_scripts import FACTS, OTHERS, QUESTIONS
from contract.stored import Stored
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, recall_pb2
from muniment_server.embedding.base import Embedder
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, running_service
from unit.retrieval import distractors

pytestmark = pytest.mark.asyncio(loop_scope="module")

LEXICAL = [recall_pb2.RETRIEVAL_LEG_LEXICAL]
VECTOR = [recall_pb2.RETRIEVAL_LEG_VECTOR]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase, multilingual: Embedder) -> AsyncIterator[RunningService]:
    """A service with the default model."""
    async with running_service(module_database, embedder=multilingual, embedding_patience=15.0) as running:
        yield running


SCRIPTS = [
    ("周三和李工在杭州讨论仓库搬迁", "仓库搬迁", distractors.CHINESE),
    ("来週の出張で抹茶のお土産を買う", "お土産", distractors.JAPANESE),
    ("부산 창고 비밀번호는 매주 바뀐다", "비밀번호", distractors.KOREAN),
    ("ฉันแพ้ถั่วลิสง", "ถั่วลิสง", distractors.THAI),
    ("NAS备份脚本凌晨失败", "备份脚本", distractors.MIXED_CHINESE),
]


@pytest.mark.parametrize("legs", [LEXICAL, []], ids=["keyword-only", "hybrid"])
@pytest.mark.parametrize(("text", "query", "others"), SCRIPTS)
async def test_a_text_is_found_by_its_words_in_every_script(
    caller: Caller, stored: Stored, text: str, query: str, others: Sequence[str], legs: list[int]
) -> None:
    assert len(others) >= 20
    await caller.write("u1", *others[:10], text, *others[10:])
    answer = await caller.recall("u1", query, legs=legs)
    assert answer.memories[0].memory.content == text
    assert answer.memories[0].memory.content.encode() == text.encode()
    assert len(stored.live()) == len(others) + 1


COOKING = [
    "Adds a pinch of saffron to risotto", "Soaks chickpeas overnight", "Bakes bread at 230 degrees",
    "Never salts beans before they are soft", "Likes pasta al dente", "Keeps the starter in the fridge",
    "Fries onions slowly in butter", "Roasts potatoes with rosemary", "Prefers basmati rice for curry",
    "Grills fish on a cedar plank", "Makes stock from chicken bones", "Whips cream without sugar",
    "Dislikes coriander in salsa", "Uses cast iron for steak", "Marinates tofu in soy sauce",
    "Steams broccoli for four minutes", "Serves soup with croutons", "Dries tomatoes in the oven",
    "Cooks jam with lemon juice", "Toasts spices before grinding",
]  # fmt: skip


async def test_an_off_topic_query_finds_nothing_and_a_good_one_scores_above_it(caller: Caller) -> None:
    await caller.write("u1", *COOKING)
    off = await caller.recall("u1", "orbit of Triton")
    assert off.no_relevant_memory
    assert not off.memories
    seen = []
    for query in ("orbit of Triton", "quarterly revenue forecast", "install a Linux kernel module"):
        answer = await caller.recall("u1", query, min_score=0.0, limit=20)
        assert len(answer.memories) == 20
        seen.append([one.score for one in answer.memories])
    exact = await caller.recall("u1", COOKING[2])
    assert exact.memories[0].memory.content == COOKING[2]
    assert exact.memories[0].score > max(max(scores) for scores in seen)
    vague = await caller.recall("u1", "how does she prepare rice", min_score=0.0, limit=20)
    lists = [*seen, [one.score for one in exact.memories], [one.score for one in vague.memories]]
    assert len({tuple(round(score, 6) for score in scores) for scores in lists}) == len(lists)
    assert exact.memories[0].score > vague.memories[0].score


async def test_a_memory_is_found_by_its_meaning_across_languages(caller: Caller) -> None:
    await caller.write("u1", *COOKING[:10], "Je suis allergique aux arachides")
    answer = await caller.recall("u1", "is she allergic to peanuts?", legs=VECTOR)
    assert answer.memories[0].memory.content == "Je suis allergique aux arachides"


async def test_a_question_in_another_script_finds_its_answer_by_default(caller: Caller) -> None:
    found = wrong = asked = 0
    for language, facts in FACTS.items():
        await caller.write(language, *facts, *OTHERS)
        for other, questions in QUESTIONS.items():
            for fact, question in zip(facts, questions, strict=True):
                answer = await caller.recall(language, question, explain=True)
                texts = [one.memory.content for one in answer.memories]
                if other == language:
                    assert texts[0] == fact
                    continue
                asked += 1
                found += texts[:1] == [fact]
                wrong += texts[:1] not in ([], [fact])
                for one in answer.memories:
                    parts = [*one.leg_scores, *one.factors]
                    assert sum(each.contribution for each in parts) == pytest.approx(one.score, abs=1e-9)
    assert asked == 100
    assert found >= 82
    assert wrong <= 2


def _long_text() -> str:
    words = [f"w{number:03d}" for number in range(997)]
    text = " ".join(words[number % 997] for number in range(6_000)) + " locker combination is 9083-KD"
    assert len(text.encode()) < 32_768
    return text


FROM_THE_END = [("9083-KD", LEXICAL), ("9083-KD", []), ("how do I open the locker", [])]


async def test_the_end_of_a_long_text_is_found(caller: Caller, stored: Stored) -> None:
    written = (await caller.write("u1", _long_text())).results[0]
    # The model reads the beginning only, and the answer says so.
    assert written.embedding_state == memory_pb2.EMBEDDING_STATE_PARTIAL
    replaced = await caller.supersede(written.memory.memory_id, _long_text())
    assert replaced.embedding_state == memory_pb2.EMBEDDING_STATE_PARTIAL
    for query, legs in FROM_THE_END:
        answer = await caller.recall("u1", query, legs=legs)
        assert [one.memory.content for one in answer.memories] == [_long_text()], query
    others = (await caller.write("u1", *COOKING)).results
    assert {one.embedding_state for one in others} == {memory_pb2.EMBEDDING_STATE_READY}
    for query, legs in FROM_THE_END[:2]:
        answer = await caller.recall("u1", query, legs=legs, min_score=0.0)
        assert answer.memories[0].memory.content == _long_text(), query
    assert len(stored.live()) == 21
    assert stored.count("memory_embedding") == 22


@pytest.mark.parametrize(("query", "legs"), FROM_THE_END[:2])
async def test_a_rare_word_of_a_long_text_is_found_among_short_ones(
    caller: Caller, query: str, legs: list[int]
) -> None:
    await caller.write("u1", _long_text(), *COOKING)
    answer = await caller.recall("u1", query, legs=legs)
    assert [one.memory.content for one in answer.memories] == [_long_text()]


async def test_nothing_is_an_answer_to_signs_and_stop_words(caller: Caller) -> None:
    await caller.write("u1", "!!!", "the", "🤷", "The train to Lyon leaves at eight")
    answer = await caller.recall("u1", "train timetable", min_score=0.0)
    assert answer.memories[0].memory.content == "The train to Lyon leaves at eight"
    assert all(0 <= one.score <= 1 for one in answer.memories)


@pytest.mark.parametrize("text", ["\ufdfa" * 40, "\u1e9b\u0323" * 50, "a\u0300" * 3_000, "क्षि" * 500])
async def test_texts_that_expand_or_combine_are_embedded_and_come_back(caller: Caller, text: str) -> None:
    written = (await caller.write("u1", item(text))).results[0]
    assert written.memory.state == memory_pb2.MEMORY_STATE_ACTIVE
    assert (await caller.get(written.memory.memory_id)).memory.content == text
    listing = memory_service_pb2.ListMemoriesRequest(scope=memory_pb2.Scope(subject="u1"))
    assert len((await caller.call("ListMemories", listing)).memories) == 1
    assert not (await caller.recall("u1", text[:500], min_score=0.0)).seal_broken_memory_ids
