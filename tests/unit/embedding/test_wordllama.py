"""The static vectors of WordLlama: another dimension, no inference, English."""

import logging

import numpy as np
import pytest

from muniment_server.embedding import UnreadableText, create_embedder
from muniment_server.embedding.wordllama import WordLlama

from .calibration_set import COOKING, HOUSEHOLD, TEAM
from .test_calibration import assert_separates


@pytest.fixture(scope="module")
def word_llama() -> WordLlama:
    return WordLlama()


def test_it_says_what_it_is(word_llama: WordLlama) -> None:
    model = word_llama.model
    assert (model.name, model.dimension, len(model.digest)) == ("wordllama-l2-supercat-256", 256, 64)
    assert model.setting == "wordllama"
    assert create_embedder("wordllama").model == model
    # The package's own code would have set up logging for everybody.
    assert not [each for each in logging.getLogger().handlers if type(each) is logging.StreamHandler]


def test_answers_are_found_and_what_is_off_topic_finds_nothing(word_llama: WordLlama) -> None:
    assert_separates(word_llama, (COOKING, HOUSEHOLD, TEAM), 0.75)


def test_vectors_have_length_one_and_are_the_same_in_any_batch(word_llama: WordLlama) -> None:
    texts = ["Likes tea", "tea", "The user's cat is called Mimi. " * 50, "🤷", "a b c"]
    made = word_llama.embed_passages(texts)
    assert made.shape == (5, 256)
    assert np.linalg.norm(made, axis=1) == pytest.approx(np.ones(5))
    for text, vector in zip(texts, made, strict=True):
        assert (word_llama.embed_query(text) == vector).all()


def test_it_says_what_it_cannot_read(word_llama: WordLlama) -> None:
    assert word_llama.read("Likes tea 42").coverage == 1
    for text in ("喜欢绿茶", "любит чай", "🤷", "!!!"):
        assert word_llama.read(text).coverage < word_llama.model.min_coverage
    assert word_llama.read("x" * 20_000).truncated
    with pytest.raises(UnreadableText):
        word_llama.embed_query("a\x00b")
