"""Names and spellings through the API: whom a query names, in several languages, and how it is written."""

from typing import Any

import pytest

from contract.stored import Stored
from contract.verified import findings
from muniment_server._gen.muniment.v1 import memory_pb2, recall_pb2, write_pb2
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from support.service import Caller, RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")

LEXICAL = recall_pb2.RETRIEVAL_LEG_LEXICAL
ENTITY = recall_pb2.RETRIEVAL_LEG_ENTITY


async def deeply_verified(shared: RunningService, caller: Caller, stored: Stored) -> None:
    """The index holds what the present version of the analysis makes of the stored texts."""
    assert {row["analyzer"] for row in stored.rows("memory")} == {ANALYZER_VERSION}
    assert await findings(shared, caller.tenant) == []


async def entities(caller: Caller, query: str, **fields: Any) -> dict[str, float]:
    """Content of what the query's names speak for, with what that adds."""
    answer = await caller.recall("u1", query, explain=True, min_score=0.0, **fields)
    return {
        one.memory.content: leg.contribution
        for one in answer.memories
        for leg in one.leg_scores
        if leg.leg == ENTITY
    }


@pytest.mark.parametrize(
    ("naming", "other", "query"),
    [
        ("Clara moved to Lisbon", "Rain moved to the east", "What about Clara?"),
        ("Clara was in the garden", "Moss was in the garden", "What about Clara?"),
        ("we met élodie and Zoë there", "we met nobody there", "Where is Zoë?"),
        ("we met élodie and Zoë there", "we met nobody there", "where is zoe"),
        ("then Øystein came along", "then rain came along", "Where is Oeystein?"),
        ("dinner with Mr. O'Neil at eight", "dinner with friends at eight", "When did O'Neil eat?"),
        ("I asked Will about it", "I will ask about it", "What did Will say?"),
        ("Anna Weber hat das Fenster repariert", "Der Nachbar hat die Weber repariert", "Wer ist Anna?"),
        ("小敏搬到了成都", "小猫搬到了新窝", "小敏怎么样？"),
        ("昨天王老师请客", "昨天老板请客", "王老师在哪里？"),
        ("田中さんは大阪に住んでいる", "猫は大阪に住んでいる", "田中さんは？"),
        ("민수 씨는 부산에 산다", "고양이는 부산에 산다", "민수는 어디에 살아?"),
        ("السيدة ليلى تعيش في مراكش", "القطة تعيش في مراكش", "أين ليلى؟"),
    ],
)
async def test_a_name_in_a_memory_is_found_by_a_query_that_names_it(
    shared: RunningService, caller: Caller, stored: Stored, naming: str, other: str, query: str
) -> None:
    await caller.write("u1", naming, other)
    assert await entities(caller, query) == {naming: pytest.approx(0.06, abs=0.002)}
    await deeply_verified(shared, caller, stored)


async def test_a_word_is_no_name_where_the_query_does_not_say_so(caller: Caller) -> None:
    await caller.write("u1", "Rowing is fun", "Der Hund mag die Wurst", "Die Katze mag den Fisch")
    for query in ("Is rowing fun?", "is it rowing", "Was mag die Katze?", "Mag der Hund die Wurst?"):
        assert await entities(caller, query) == {}


def turn(number: int, speaker: str) -> write_pb2.WriteItem:
    one = write_pb2.WriteItem(
        content=f"I adopted a grey dog, number {number}",
        kind=memory_pb2.MEMORY_KIND_TURN,
        speaker=speaker,
        turn_number=number,
    )
    one.provenance.session = "s1"
    return one


@pytest.mark.parametrize(
    ("speaker", "query", "unnamed"),
    [
        ("Will", "What did Will adopt?", "What will the dog do?"),
        ("Will", "Will's dog", "Will the dog bark?"),
        ("My", "Which dog did My adopt?", "My dog is grey"),
        ("An", "Does An have a dog?", "Is an old dog grey?"),
        ("He", "What did He adopt?", "He has which dog?"),
        ("他", "他领养了什么？", "谁领养了什么？"),
        ("她", "她領養了什麼？", "誰領養了什麼？"),
        ("Groß", "Was hat Gross adoptiert?", "Was hat er adoptiert?"),
        ("Jürgen", "Was hat Juergen adoptiert?", "Was hat er adoptiert?"),
        ("小敏", "小敏领养了什么？", "小红领养了什么？"),
        ("歐陽娜娜", "欧阳娜娜领养了什么？", "欧洲领养了什么？"),
    ],
)
async def test_a_speaker_is_found_by_a_name_that_is_a_common_word_or_written_otherwise(
    caller: Caller, speaker: str, query: str, unnamed: str
) -> None:
    await caller.write("u1", turn(1, "Bob"), turn(2, speaker), turn(3, "Bob"))
    assert set(await entities(caller, query)) == {"I adopted a grey dog, number 2"}
    assert await entities(caller, unnamed) == {}


@pytest.mark.parametrize(
    ("content", "queries", "others"),
    [
        ("Wohnt in der Langen Straße", ["Strasse", "STRASSE", "straße", "Straße"], ["Stress", "Straßburg"]),
        ("Besuch bei Familie Müller", ["Müller", "Mueller", "muller", "MÜLLER"], ["Mühle"]),
        ("Hemden in Größe vierzig", ["Groesse", "größe", "GRÖSSE"], ["Gräser"]),
        ("Omvisning i Århus", ["Aarhus", "århus", "arhus"], ["Oslo"]),
        ("他在臺灣的圖書館工作", ["台湾", "臺灣", "图书馆", "圖書館"], ["台北"]),
        ("他在台湾的图书馆工作", ["台湾", "臺灣", "图书馆", "圖書館"], ["臺北"]),
    ],
)
async def test_a_word_is_found_in_its_other_spellings(
    shared: RunningService,
    caller: Caller,
    stored: Stored,
    content: str,
    queries: list[str],
    others: list[str],
) -> None:
    await caller.write("u1", content, "Likes green tea")
    for query in queries:
        assert await caller.contents("u1", query, legs=[LEXICAL]) == [content], query
    for query in others:
        assert await caller.contents("u1", query, legs=[LEXICAL], min_score=0.0) == [], query
    await deeply_verified(shared, caller, stored)
