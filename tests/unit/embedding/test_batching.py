"""The service around an embedder: batches, cache, back-pressure, cancellation, failure, stopping."""

import asyncio
import gc
import logging
import threading
from collections.abc import AsyncIterator

import numpy as np
import pytest

from muniment_server.embedding import (
    EmbedderOverloaded,
    EmbedderUnavailable,
    EmbeddingService,
    UnreadableText,
)
from muniment_server.embedding.cache import Embedded, Purpose, VectorCache
from muniment_server.embedding.errors import EmbedderSlow, TextFailed
from muniment_server.embedding.turns import Job, Turns
from support.embedders import DeterministicEmbedder


@pytest.fixture
def embedder() -> DeterministicEmbedder:
    return DeterministicEmbedder()


@pytest.fixture
async def service(embedder: DeterministicEmbedder) -> AsyncIterator[EmbeddingService]:
    running = EmbeddingService(embedder, max_waiting=8, max_batch_texts=4, max_batch_characters=100)
    await running.start()
    embedder.batches.clear()
    embedder.entered.clear()
    yield running
    embedder.gate.set()
    await running.stop()


async def reached_gate(embedder: DeterministicEmbedder) -> None:
    assert await asyncio.to_thread(embedder.entered.wait, 10)


async def test_vectors_are_those_of_the_embedder(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    query = await service.query("cat")
    assert query.vector is not None
    assert np.array_equal(query.vector, embedder.embed_query("cat"))
    first, second, again = await service.passages(["one text", "another text", "one text"])
    assert first is again
    assert first.vector is not None
    assert second.vector is not None
    assert not np.array_equal(first.vector, second.vector)
    assert not first.vector.flags.writeable
    assert await service.passages([]) == []


async def test_known_vectors_of_a_table(embedder: DeterministicEmbedder, service: EmbeddingService) -> None:
    embedder.table["north"] = (0, 1)
    embedder.table["east"] = (1,)
    north, east = await service.passages(["north", "east"])
    assert north.vector is not None
    assert east.vector is not None
    assert float(north.vector @ east.vector) == 0


async def test_ready_comes_after_the_model_has_answered(embedder: DeterministicEmbedder) -> None:
    embedder.gate.clear()
    service = EmbeddingService(embedder)
    starting = asyncio.create_task(service.start())
    await reached_gate(embedder)
    assert not service.ready.is_set()
    with pytest.raises(EmbedderUnavailable):
        await service.query("early")
    embedder.gate.set()
    await starting
    assert service.ready.is_set()
    await service.stop()
    assert not service.ready.is_set()


async def test_a_model_that_does_not_work_fails_the_start(embedder: DeterministicEmbedder) -> None:
    embedder.failing = RuntimeError("broken")
    service = EmbeddingService(embedder)
    with pytest.raises(EmbedderUnavailable):
        await service.start()
    assert not service.ready.is_set()
    await service.stop()


async def test_callers_share_batches_and_texts(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    first = asyncio.create_task(service.passages(["zero"]))
    await reached_gate(embedder)
    others = [asyncio.create_task(service.passages([text])) for text in ("a", "b", "a", "c", "zero")]
    await asyncio.sleep(0)
    assert service.waiting == 3
    embedder.gate.set()
    results = await asyncio.gather(first, *others)
    assert embedder.batches == [("passage", ("zero",)), ("passage", ("a", "b", "c"))]
    assert results[1] == results[3]
    assert results[0] == results[5]


async def test_an_idle_service_starts_at_once(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    await service.query("alone")
    assert embedder.batches == [("query", ("alone",))]


async def test_batches_are_bounded_by_texts_and_characters(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    await service.passages([f"text {number}" for number in range(6)])
    assert [len(texts) for _, texts in embedder.batches] == [4, 2]
    embedder.batches.clear()
    await service.passages(["x" * 60, "y" * 60, "z" * 300, "w"])
    assert [[len(text) for text in texts] for _, texts in embedder.batches] == [[60], [60], [300], [1]]


async def test_a_query_waits_for_one_batch_at_most(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    bulk = asyncio.create_task(service.passages([f"bulk {number}" for number in range(8)]))
    await reached_gate(embedder)
    query = asyncio.create_task(service.query("urgent"))
    await asyncio.sleep(0)
    embedder.gate.set()
    await asyncio.gather(bulk, query)
    assert [purpose for purpose, _ in embedder.batches] == ["passage", "query", "passage"]


async def test_queries_and_passages_are_different_entries(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    await service.query("same text")
    await service.passages(["same text"])
    await service.query("same text")
    await service.passages(["same text"])
    assert [purpose for purpose, _ in embedder.batches] == ["query", "passage"]
    assert (service.cache.hits, service.cache.misses) == (2, 2)


async def test_clearing_forgets_what_is_cached_and_what_is_running(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    await service.query("secret")
    service.clear()
    assert (len(service.cache), service.cache.size) == (0, 0)
    embedder.gate.clear()
    embedder.entered.clear()
    running = asyncio.create_task(service.query("secret"))
    await reached_gate(embedder)
    service.clear()
    embedder.gate.set()
    assert (await running).vector is not None
    assert len(service.cache) == 0


def test_cache_stays_within_its_bytes() -> None:
    cache = VectorCache(10_000)
    vector = np.zeros(384, dtype=np.float32)
    entries = [cache.key("model", Purpose.QUERY, f"text {number}") for number in range(20)]
    for key in entries:
        cache.put(key, Embedded(vector, 1.0, False), cache.generation)
        assert cache.size <= 10_000
    assert len(cache) == 10_000 // Embedded(vector, 1.0, False).size
    assert cache.get(entries[0]) is None
    assert cache.get(entries[-1]) is not None
    cache.put(entries[-1], Embedded(None, 0.0, False), cache.generation)
    assert cache.size < 10_000
    off = VectorCache(0)
    off.put(entries[0], Embedded(vector, 1.0, False), off.generation)
    assert len(off) == 0


def test_recently_used_entries_stay() -> None:
    size = Embedded(np.zeros(384, dtype=np.float32), 1.0, False).size
    cache = VectorCache(2 * size)
    keys = [cache.key("model", Purpose.QUERY, text) for text in "abc"]
    for key in keys[:2]:
        cache.put(key, Embedded(np.zeros(384, dtype=np.float32), 1.0, False), 0)
    cache.get(keys[0])
    cache.put(keys[2], Embedded(np.zeros(384, dtype=np.float32), 1.0, False), 0)
    assert [cache.get(key) is not None for key in keys] == [True, False, True]


def test_keys_hold_no_text_and_differ_by_model() -> None:
    one, other = VectorCache(1000), VectorCache(1000)
    key = one.key("model", Purpose.QUERY, "secret text")
    assert b"secret" not in key[-1]
    assert key == one.key("model", Purpose.QUERY, "secret text")
    assert key != other.key("model", Purpose.QUERY, "secret text")
    assert key != one.key("model 2", Purpose.QUERY, "secret text")
    assert key != one.key("model", Purpose.QUERY, "secret text", "a")


async def test_too_many_texts_are_turned_away_whole(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    running = asyncio.create_task(service.query("running"))
    await reached_gate(embedder)
    waiting = asyncio.create_task(service.passages([f"text {number}" for number in range(6)]))
    await asyncio.sleep(0)
    with pytest.raises(EmbedderOverloaded):
        await service.passages(["new 1", "new 2", "new 3"])
    assert service.waiting == 6
    shared = asyncio.create_task(service.passages(["text 1", "text 2", "text 3", "new 1", "new 2"]))
    await asyncio.sleep(0)
    assert service.waiting == 8
    embedder.gate.set()
    await asyncio.gather(running, waiting, shared)
    assert service.waiting == 0


async def test_deadlines_leave_nothing_behind(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    running = asyncio.create_task(service.query("running"))
    await reached_gate(embedder)
    for _ in range(50):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.002):
                await service.passages(["a", "b", "c", "d", "e"])
    embedder.gate.set()
    await running
    await service.query("after")
    assert [text for _, texts in embedder.batches for text in texts] == ["running", "after"]
    assert service.waiting == 0
    assert not service._jobs


async def test_places_of_callers_who_left_are_free_again(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    running = asyncio.create_task(service.query("running"))
    await reached_gate(embedder)
    gone = asyncio.create_task(service.passages([f"gone {number}" for number in range(8)]))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait({gone})
    waiting = asyncio.create_task(service.passages([f"text {number}" for number in range(8)]))
    await asyncio.sleep(0)
    embedder.gate.set()
    await asyncio.gather(running, waiting)


async def test_one_caller_leaving_does_not_disturb_another_of_the_same_text(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    first = asyncio.create_task(service.query("shared"))
    await reached_gate(embedder)
    second = asyncio.create_task(service.query("shared"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    embedder.gate.set()
    assert (await second).vector is not None
    assert len(embedder.batches) == 1


async def test_a_failing_text_does_not_fail_its_neighbours(
    service: EmbeddingService, embedder: DeterministicEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    embedder.failing_texts["poison PII-8841"] = ValueError("poison PII-8841")
    embedder.gate.clear()
    running = asyncio.create_task(service.passages(["running"]))
    await reached_gate(embedder)
    good = asyncio.create_task(service.passages(["good"]))
    bad = asyncio.create_task(service.passages(["fine", "poison PII-8841"]))
    await asyncio.sleep(0)
    embedder.gate.set()
    with caplog.at_level(logging.DEBUG), pytest.raises(EmbedderUnavailable) as caught:
        await bad
    assert (await good)[0].vector is not None
    await running
    assert "8841" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert "8841" not in caplog.text
    with pytest.raises(EmbedderUnavailable):
        await service.passages(["poison PII-8841"])


async def test_a_failure_is_not_remembered(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.failing = OSError("gone")
    with pytest.raises(EmbedderUnavailable):
        await service.query("text")
    embedder.failing = None
    assert (await service.query("text")).vector is not None


@pytest.mark.parametrize(
    "vector", [[float("nan")] * 384, [0.0] * 384, [3.0] + [0.0] * 383, [1.0] + [0.0] * 100]
)
async def test_a_vector_that_is_none_is_a_failure(
    service: EmbeddingService,
    embedder: DeterministicEmbedder,
    vector: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedder, "_vector", lambda text: np.array(vector, dtype=np.float32))
    with pytest.raises(EmbedderUnavailable):
        await service.passages(["text"])
    with pytest.raises(EmbedderUnavailable):
        await service.query("text")
    assert len(service.cache) == 0


async def test_a_text_that_the_model_cannot_read_has_no_vector(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    emoji, words = await service.passages(["🤷", "words"])
    assert (emoji.vector, emoji.coverage) == (None, 0.0)
    assert words.vector is not None
    assert embedder.batches == [("passage", ("words",))]


async def test_truncation_is_told(embedder: DeterministicEmbedder, service: EmbeddingService) -> None:
    embedder.max_characters = 10
    short, long = await service.passages(["short", "much longer than that"])
    assert not short.truncated
    assert long.truncated


@pytest.mark.parametrize("text", ["a\x00b", "\ud83d"])
async def test_unreadable_text_is_refused_before_it_waits(service: EmbeddingService, text: str) -> None:
    with pytest.raises(UnreadableText):
        await service.passages(["fine", text])
    assert service.waiting == 0


async def test_stopping_fails_who_waits_and_lets_the_running_batch_end(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    running = asyncio.create_task(service.query("running"))
    await reached_gate(embedder)
    waiting = asyncio.create_task(service.passages(["waiting"]))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(service.stop())
    await asyncio.wait({waiting})
    assert isinstance(waiting.exception(), EmbedderUnavailable)
    embedder.gate.set()
    assert (await running).vector is not None
    await stopping
    with pytest.raises(EmbedderUnavailable):
        await service.query("late")
    await service.stop()


async def test_stopping_does_not_wait_for_a_stuck_model(embedder: DeterministicEmbedder) -> None:
    service = EmbeddingService(embedder)
    await service.start()
    embedder.gate.clear()
    embedder.entered.clear()
    stuck = asyncio.create_task(service.query("stuck"))
    await reached_gate(embedder)
    await service.stop(grace=0.05)
    with pytest.raises(EmbedderUnavailable):
        await stuck
    embedder.gate.set()


async def test_a_service_is_started_once(service: EmbeddingService) -> None:
    with pytest.raises(RuntimeError):
        await service.start()


async def test_inference_is_outside_the_event_loop(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    task = asyncio.create_task(service.query("slow"))
    await reached_gate(embedder)
    ticks = 0
    for _ in range(20):
        await asyncio.sleep(0.001)
        ticks += 1
    assert ticks == 20
    assert not task.done()
    assert any(thread.name.startswith("embedding") for thread in threading.enumerate())
    embedder.gate.set()
    await task


async def test_many_cancelled_calls_leave_no_tasks_and_no_warnings(
    service: EmbeddingService, embedder: DeterministicEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    before = len(asyncio.all_tasks())
    for number in range(200):
        task = asyncio.create_task(service.passages([f"text {number}", f"more {number}"]))
        for _ in range(number % 4):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
    await service.query("last")
    gc.collect()
    assert len(asyncio.all_tasks()) == before
    assert service.waiting == 0
    assert not service._jobs
    assert caplog.text == ""


async def test_another_loop_policy_makes_no_difference(embedder: DeterministicEmbedder) -> None:
    uvloop = pytest.importorskip("uvloop")

    def on_uvloop() -> Embedded:
        async def once() -> Embedded:
            service = EmbeddingService(embedder)
            await service.start()
            result = await service.query("cat")
            await service.stop()
            return result

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(once())

    result = await asyncio.to_thread(on_uvloop)
    assert result.vector is not None


async def test_many_long_texts_of_one_tenant_hold_up_nobody_else(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    running = asyncio.create_task(service.passages(["running"], "a"))
    await reached_gate(embedder)
    long = [f"{number} " + "w" * 30_000 for number in range(5)]
    clogging = asyncio.create_task(service.passages(long, "a"))
    await asyncio.sleep(0)
    other = asyncio.create_task(service.passages([f"b {number}" for number in range(6)], "b"))
    same = asyncio.create_task(service.passages(["another call"], "a"))
    await asyncio.sleep(0)
    embedder.gate.set()
    await asyncio.gather(running, clogging, other, same)
    order = [text[:12] for _, texts in embedder.batches for text in texts]
    # The first tenant is ahead by what it was given before; then its work is paid back to the second.
    assert max(order.index(f"b {number}") for number in range(6)) < order.index("1 wwwwwwwwww")
    assert order.index("another call") < order.index("2 wwwwwwwwww")
    assert len(order) == 1 + 5 + 6 + 1


async def test_a_text_that_a_second_one_asks_for_comes_with_the_earlier_turn(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    running = asyncio.create_task(service.passages(["running"], "a"))
    await reached_gate(embedder)
    first = asyncio.create_task(service.passages([*("x" * 200 + str(n) for n in range(4)), "shared"], "a"))
    await asyncio.sleep(0)
    second = asyncio.create_task(service.passages(["shared"], "a"))
    await asyncio.sleep(0)
    assert service.waiting == 5
    embedder.gate.set()
    vector = (await second)[0]
    assert vector is (await first)[4]
    await running
    order = [text for _, texts in embedder.batches for text in texts]
    assert order.index("shared") <= 2
    assert len(order) == len(set(order)) == 6
    assert not service._jobs


async def test_tenants_share_no_text_and_no_vector(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    running = asyncio.create_task(service.passages(["running"], "a"))
    await reached_gate(embedder)
    both = [asyncio.create_task(service.passages(["guessed"], tenant)) for tenant in ("a", "b")]
    await asyncio.sleep(0)
    assert service.waiting == 2
    embedder.gate.set()
    await asyncio.gather(running, *both)
    await service.passages(["guessed"], "a")
    order = [text for _, texts in embedder.batches for text in texts]
    assert order == ["running", "guessed", "guessed"]
    await service.passages(["guessed"], "c")
    assert embedder.batches[-1] == ("passage", ("guessed",))


async def test_a_full_share_of_one_tenant_leaves_room_for_others(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.gate.clear()
    running = asyncio.create_task(service.passages(["running"], "a"))
    await reached_gate(embedder)
    full = asyncio.create_task(service.passages([f"a {number}" for number in range(8)], "a"))
    await asyncio.sleep(0)
    with pytest.raises(EmbedderOverloaded):
        await service.passages(["one more"], "a")
    other = asyncio.create_task(service.passages([f"b {number}" for number in range(8)], "b"))
    await asyncio.sleep(0)
    assert service.waiting == 16
    with pytest.raises(EmbedderOverloaded):
        await service.passages(["third"], "c")
    embedder.gate.set()
    await asyncio.gather(running, full, other)


async def test_what_became_of_each_text_is_told(
    service: EmbeddingService, embedder: DeterministicEmbedder
) -> None:
    embedder.failing_texts = {"poison": ValueError("no")}
    fine, poison = await service.outcomes_within(["fine", "poison"], 10.0)
    assert isinstance(fine, Embedded)
    assert type(poison) is TextFailed
    embedder.failing_texts = {"slow": TimeoutError()}
    (slow,) = await service.outcomes_within(["slow"], 10.0)
    assert type(slow) is EmbedderSlow
    embedder.gate.clear()
    assert await service.outcomes_within(["held"], 0.05) == [None]


def test_turns_are_by_work_and_nobody_saves_them_up() -> None:
    turns = Turns()

    def add(tenant: str, *texts: str) -> None:
        call = object()
        for text in texts:
            key = ("model", Purpose.PASSAGE, text.encode())
            turns.add(Job(key, text, Purpose.PASSAGE, tenant), tenant, call)

    def served(count: int) -> str:
        found = ""
        for _ in range(count):
            job = turns.next()
            assert job is not None
            turns.take()
            found += str(job.tenant)
        return found

    add("a", *["w" * 30_000] * 4)
    add("b", *["short"] * 40)
    assert served(32) == "a" + "b" * 31
    assert served(12).count("a") == 3
    assert not turns
    assert turns.next() is None
    # Who was away is served next, and not until it has caught up with all that the other one had.
    add("a", *["w" * 30_000] * 9)
    assert served(8) == "a" * 8
    add("c", *["w" * 30_000] * 3)
    assert sorted(served(3)) == ["a", "c", "c"]
    assert sum(1 for _ in iter(turns.next, None) if turns.take() is None) == 1
