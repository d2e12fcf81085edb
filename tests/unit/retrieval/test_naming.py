"""Names in texts and in queries, told by how they are written."""

import pytest

from muniment_server.retrieval.analysis import Analyzer
from muniment_server.retrieval.indexing import called_marks, index_terms, name_marks, name_terms
from muniment_server.retrieval.naming import named, names
from muniment_server.retrieval.scripts import simplified


@pytest.mark.parametrize(
    ("text", "sure", "possible"),
    [
        ("Clara moved to Lisbon", ["Clara", "Lisbon"], []),
        ("Clara and Ben were there", ["Clara", "Ben"], []),
        ("Clara was there", [], ["Clara"]),
        ("Rowing is fun. Everyone loves rowing", [], ["Rowing"]),
        ("The dog is ill. We were in Turku", ["Turku"], []),
        ("Thanks Caroline! It's great", ["Caroline"], []),
        ("in Ann's garden. Ben's is smaller", ["Ann"], ["Ben"]),
        ("met élodie and Zoë, then Øystein", ["Zoë", "Øystein"], []),
        ("dinner with Mr. O'Neil and Dr. Weiss", ["O'Neil", "Weiss"], []),
        ("a book by J. R. Tolkien", ["Tolkien"], []),
        ("I asked Will about it. I'm tired", ["Will"], []),
        ("Will said so", ["Will"], []),
        ("WE WENT TO PARIS", [], []),
        ("Вчера мы видели Анну в Москве", ["Анну", "Москве"], ["Вчера"]),
        ("Der Hund mag die Wurst und die Katze den Fisch", [], []),
        ("Gestern hat mir Herr Weber in der Stadt ein Buch gegeben", ["Weber"], ["Gestern"]),
        ("Ich habe mit Anna Schmidt in der Küche gekocht", ["Anna", "Schmidt"], []),
        ("Clara wohnt in Lissabon", [], ["Clara", "Lissabon"]),
        ("小敏搬到了成都", ["小敏"], []),
        ("昨天见到李晓明和王老师", ["李晓明", "王老"], []),
        ("李明和欧阳娜娜在上海见面", ["李明", "欧阳娜娜"], []),
        ("老师让我们打扫教室，中学老师很忙", [], []),
        ("文明的王朝，谢谢顾客", [], []),
        ("田中さんは大阪に住んでいる", ["田中"], []),
        ("お母さんと店員さんが来た", [], []),
        ("マリアさんと話した", ["マリア"], []),
        ("민수 씨는 부산에 산다", ["민수"], []),
        ("선생님과 손님이 왔다", [], []),
        ("السيدة ليلى تعيش في مراكش", ["ليلى"], []),
        ("ليلى تعيش في مراكش", [], []),
    ],
)
def test_names_of_a_text(text: str, sure: list[str], possible: list[str]) -> None:
    found = list(names(simplified(text)))
    assert sorted({name.text for name in found if name.sure}) == sorted(simplified(one) for one in sure)
    assert [name.text for name in found if not name.sure] == possible


@pytest.mark.parametrize(
    ("query", "called"),
    [
        ("What about Clara?", ["Clara"]),
        ("what about clara?", []),
        ("Clara", ["Clara"]),
        ("Clara's dog", ["Clara"]),
        ("Rowing trips?", []),
        ("What did Will adopt?", ["Will"]),
        ("What will Ann do?", ["Ann"]),
        ("Will Ann come?", ["Ann"]),
        ("Will's dog", ["Will"]),
        ("Will adopted what?", ["Will"]),
        ("What did My say to An?", ["My", "An"]),
        ("My dog is ill", []),
        ("May I come?", []),
        ("What did He adopt?", ["He"]),
        ("He said what?", []),
        ("Do you think I'm late?", []),
        ("What Will My Favourite Tea Be", []),
        ("WHAT WILL ANN DO", []),
        ("Who is Mr. O'Neil?", ["O'Neil"]),
        ("Was mag die Katze?", []),
        ("Wo wohnt Clara?", ["Clara"]),
        ("Когда приехала Анна?", ["Анна"]),
    ],
)
def test_names_that_a_query_calls_so(query: str, called: list[str]) -> None:
    assert named(query) == called


def test_a_possible_name_has_one_mark_and_a_sure_one_two() -> None:
    marks = index_terms("Clara was in Turku").frequencies
    assert set(called_marks(["clara", "turku"])) <= set(marks)
    assert set(name_marks(["clara", "turku"])) & set(marks) == set(name_marks(["turku"]))
    assert set(marks.values()) == {1}


def test_a_name_in_chinese_is_known_by_its_pairs_and_not_by_a_character() -> None:
    assert name_terms("小敏") == ["小敏"]
    assert set(name_terms("李晓明")) >= {"李晓", "晓明"}
    assert name_terms("王") == ["王"]
    assert set(name_terms("小敏")) <= set(Analyzer().analyze_query("小敏怎么样？"))
    assert name_terms("歐陽娜娜") == name_terms("欧阳娜娜")
