"""Runs an embedder beside the event loop: micro-batches, a cache, back-pressure, clean cancellation."""

import asyncio
import logging
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from muniment_server.embedding.base import Embedder, EmbeddingModel, Vector, require_readable
from muniment_server.embedding.breaker import Breaker
from muniment_server.embedding.cache import CacheKey, Embedded, Purpose, VectorCache
from muniment_server.embedding.errors import (
    EmbedderOverloaded,
    EmbedderSlow,
    EmbedderUnavailable,
    QueryLate,
    TextFailed,
)
from muniment_server.embedding.turns import Job, Turns

_log = logging.getLogger("muniment.embedding")

_WARM_UP = "The model is ready."
_NORM_TOLERANCE = 0.01

Outcome = Embedded | EmbedderUnavailable
"""What became of a text."""


class EmbeddingService:
    """Embeds texts for all callers of one event loop.

    One worker thread runs one batch at a time; the engines use all processors for a batch anyway. A
    text that comes while the worker is idle starts at once; what comes meanwhile forms the next batch.
    Queries and passages take turns, so neither a bulk write nor a burst of recalls shuts the other out. So
    do tenants, and the calls of a tenant (`turns.py`): many long texts of one hold up nobody else's.

    A caller may be cancelled, or time out with `asyncio.timeout`, at any moment: a text that nobody
    waits for any more is not embedded, and a running batch finishes on its own. Texts are never logged
    and never part of an error.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        cache_bytes: int = 32 * 1024 * 1024,
        max_waiting: int = 1024,
        max_batch_texts: int = 32,
        max_batch_characters: int = 4096,
        breaker: Breaker | None = None,
    ) -> None:
        """Wrap a loaded embedder.

        max_waiting: distinct texts of a tenant in the queue before its callers are turned away; twice as many
        of all tenants together. max_batch_texts, max_batch_characters: bounds of one batch, and so of the
        time a query waits behind a bulk write; a single longer text is a batch by itself. breaker: what
        keeps recalls from waiting for an embedder that stalls.
        """
        self._embedder = embedder
        self._cache = VectorCache(cache_bytes)
        self._max_waiting = max_waiting
        self._max_batch_texts = max_batch_texts
        self._max_batch_characters = max_batch_characters
        self._queues: dict[Purpose, Turns] = {purpose: Turns() for purpose in Purpose}
        self._jobs: dict[CacheKey, Job] = {}
        self._wake = asyncio.Event()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._runner: asyncio.Task[None] | None = None
        self._stopped = False
        self.breaker = breaker or Breaker()
        self.ready = asyncio.Event()
        """Set once the model has answered a first time; cleared by `stop`."""

    @property
    def model(self) -> EmbeddingModel:
        """Identity and calibration of the model behind this service."""
        return self._embedder.model

    @property
    def waiting(self) -> int:
        """Distinct texts in the queue, without those being embedded now."""
        return sum(not job.taken for job in self._jobs.values())

    @property
    def cache(self) -> VectorCache:
        """The cache, for its counters."""
        return self._cache

    async def start(self) -> None:
        """Run the model once and begin to serve. Raises EmbedderUnavailable when it does not work."""
        if self._stopped or self._runner is not None:
            raise RuntimeError("an embedding service is started once")
        loop = asyncio.get_running_loop()
        outcomes = await loop.run_in_executor(self._executor, self._embed_all, Purpose.QUERY, [_WARM_UP])
        if isinstance(outcomes[0], EmbedderUnavailable):
            if not getattr(self._embedder, "remote", False):
                raise outcomes[0]
            # What is elsewhere comes back by itself; until then writes are deferred, and recalls do without.
            _log.warning("the embedder does not answer yet: %s", outcomes[0])
        self._runner = asyncio.create_task(self._run(), name="embedding")
        self.ready.set()

    async def stop(self, grace: float = 5.0) -> None:
        """Refuse new texts, fail those that wait, and give the running batch `grace` seconds."""
        self._stopped = True
        self.ready.clear()
        runner = self._runner
        if runner is not None:
            for job in [job for job in self._jobs.values() if not job.taken]:
                self._settle(job, EmbedderUnavailable("the embedder is stopping"))
            for queue in self._queues.values():
                queue.clear()
            self._wake.set()
            await asyncio.wait({runner}, timeout=grace)
            runner.cancel()
            with suppress(asyncio.CancelledError):
                await runner
        close = getattr(self._embedder, "close", None)
        if close is not None:
            # After the running batch, in the thread that uses the connections.
            self._executor.submit(close)
        self._executor.shutdown(wait=False)
        self._cache.clear()

    def clear(self) -> None:
        """Forget all cached vectors. An erasure calls this: entries cannot be told apart by scope."""
        self._cache.clear()

    async def query(self, text: str, tenant: Hashable = None) -> Embedded:
        """Embed a text to search with, in the turns of `tenant`.

        Raises EmbedderOverloaded, EmbedderUnavailable or UnreadableText.
        """
        return (await self._embed([text], Purpose.QUERY, tenant))[0]

    async def query_within(self, text: str, patience: float, tenant: Hashable = None) -> Embedded:
        """Embed a text to search with within `patience` seconds; see `breaker.py` for when it is not tried.

        Raises QueryLate besides what `query` raises.
        """
        keys, found, missing = self._look_up([text], Purpose.QUERY, tenant)
        if missing:
            if not self.breaker.admits(tenant):
                raise EmbedderUnavailable("the embedder did not answer the last queries in time")
            try:
                with self.breaker.watching(patience, tenant):
                    async with asyncio.timeout(patience):
                        found = await self._made(missing, Purpose.QUERY, tenant)
            except TimeoutError:
                raise QueryLate("no vector of the query in time") from None
        return found[keys[0]]

    async def passages(self, texts: Sequence[str], tenant: Hashable = None) -> list[Embedded]:
        """Embed texts that will be searched, in their order.

        Raises EmbedderOverloaded, EmbedderUnavailable or UnreadableText; then none of them is usable.
        """
        return await self._embed(texts, Purpose.PASSAGE, tenant)

    async def passages_within(
        self, texts: Sequence[str], patience: float, tenant: Hashable = None
    ) -> list[Embedded | None]:
        """Embed texts that will be searched, as many of them as are ready within `patience` seconds.

        Raises EmbedderOverloaded or UnreadableText, and EmbedderUnavailable when not one is ready for it.
        """
        outcomes = await self.outcomes_within(texts, patience, tenant)
        found = [one if isinstance(one, Embedded) else None for one in outcomes]
        failures = [one for one in outcomes if isinstance(one, EmbedderUnavailable)]
        if failures and not any(found):
            raise failures[-1]
        return found

    async def outcomes_within(
        self, texts: Sequence[str], patience: float, tenant: Hashable = None
    ) -> list[Outcome | None]:
        """Embed texts that will be searched, and tell of each what became of it within `patience` seconds.

        None: nothing yet. Raises EmbedderOverloaded or UnreadableText, and EmbedderUnavailable when the
        service does not run.
        """
        keys, found, missing = self._look_up(texts, Purpose.PASSAGE, tenant)
        failed: dict[CacheKey, EmbedderUnavailable] = {}
        if missing:
            waiters = self._enqueue(missing, Purpose.PASSAGE, tenant)
            try:
                await asyncio.wait(waiters.values(), timeout=patience)
                for key, waiter in waiters.items():
                    if not waiter.done():
                        continue
                    failure = waiter.exception()
                    if failure is None:
                        found[key] = waiter.result()
                    elif isinstance(failure, EmbedderUnavailable):
                        failed[key] = failure
            finally:
                _abandon(waiters.values())
        return [found.get(key) or failed.get(key) for key in keys]

    async def _embed(self, texts: Sequence[str], purpose: Purpose, tenant: Hashable) -> list[Embedded]:
        keys, found, missing = self._look_up(texts, purpose, tenant)
        if missing:
            found |= await self._made(missing, purpose, tenant)
        return [found[key] for key in keys]

    async def _made(
        self, texts: dict[CacheKey, str], purpose: Purpose, tenant: Hashable
    ) -> dict[CacheKey, Embedded]:
        waiters = self._enqueue(texts, purpose, tenant)
        try:
            await asyncio.wait(waiters.values(), return_when=asyncio.FIRST_EXCEPTION)
            return {key: waiter.result() for key, waiter in waiters.items() if waiter.done()}
        finally:
            _abandon(waiters.values())

    def _look_up(
        self, texts: Sequence[str], purpose: Purpose, tenant: Hashable
    ) -> tuple[list[CacheKey], dict[CacheKey, Embedded], dict[CacheKey, str]]:
        """The key of each text, what is remembered of them, and what is not."""
        if not self.ready.is_set():
            raise EmbedderUnavailable("the embedder is not ready")
        for text in texts:
            require_readable(text)
        found: dict[CacheKey, Embedded] = {}
        keys = [self._cache.key(self.model.digest, purpose, text, tenant) for text in texts]
        missing: dict[CacheKey, str] = {}
        for key, text in zip(keys, texts, strict=True):
            if key in found or key in missing:
                continue
            cached = self._cache.get(key)
            if cached is None:
                missing[key] = text
            else:
                found[key] = cached
        return keys, found, missing

    def _enqueue(
        self, texts: dict[CacheKey, str], purpose: Purpose, tenant: Hashable
    ) -> dict[CacheKey, asyncio.Future[Embedded]]:
        if not self._has_room(texts, tenant):
            # Places of texts that nobody waits for any more are free.
            self._drop_unwanted()
            if not self._has_room(texts, tenant):
                raise EmbedderOverloaded("too many texts wait for the embedder")
        loop, call = asyncio.get_running_loop(), object()
        waiters: dict[CacheKey, asyncio.Future[Embedded]] = {}
        for key, text in texts.items():
            job = self._jobs.get(key)
            if job is None:
                job = self._jobs[key] = Job(key, text, purpose, tenant)
            if not job.taken:
                # Also in the turns of who asks for it second: it comes with the first turn of either.
                self._queues[purpose].add(job, tenant, call)
            waiters[key] = loop.create_future()
            job.waiters.append(waiters[key])
        self._wake.set()
        return waiters

    def _has_room(self, texts: Iterable[CacheKey], tenant: Hashable) -> bool:
        new = sum(key not in self._jobs for key in texts)
        waiting = [job.tenant for job in self._jobs.values() if not job.taken]
        return new + len(waiting) <= 2 * self._max_waiting and (
            new + sum(one == tenant for one in waiting) <= self._max_waiting
        )

    def _drop_unwanted(self) -> None:
        for job in list(self._jobs.values()):
            if not job.taken and not job.wanted:
                self._drop(job)
        for queue in self._queues.values():
            queue.purge()

    def _drop(self, job: Job) -> None:
        job.taken = True
        del self._jobs[job.key]

    async def _run(self) -> None:
        try:
            await self._serve()
        finally:
            # However the loop ends, nobody is left waiting for it.
            self.ready.clear()
            for queue in self._queues.values():
                queue.clear()
            for job in list(self._jobs.values()):
                self._settle(job, EmbedderUnavailable("the embedder has stopped"))

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        turn = Purpose.PASSAGE
        while not self._stopped:
            turn = self._next_turn(turn)
            batch = self._take(turn)
            if not batch:
                self._wake.clear()
                if not self.waiting:
                    await self._wake.wait()
                continue
            generation = self._cache.generation
            texts = [job.text for job in batch]
            outcomes = await loop.run_in_executor(self._executor, self._embed_all, turn, texts)
            for job, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, Embedded):
                    self._cache.put(job.key, outcome, generation)
                self._settle(job, outcome)

    def _next_turn(self, last: Purpose) -> Purpose:
        other = Purpose.QUERY if last is Purpose.PASSAGE else Purpose.PASSAGE
        return other if self._queues[other] else last

    def _take(self, purpose: Purpose) -> list[Job]:
        queue = self._queues[purpose]
        batch: list[Job] = []
        characters = 0
        while len(batch) < self._max_batch_texts and (job := queue.next()) is not None:
            if not job.wanted:
                self._drop(job)
                continue
            characters += len(job.text)
            if batch and characters > self._max_batch_characters:
                break
            queue.take()
            job.taken = True
            batch.append(job)
        return batch

    def _settle(self, job: Job, outcome: Outcome) -> None:
        self._jobs.pop(job.key, None)
        for waiter in job.waiters:
            if waiter.done():
                continue
            if isinstance(outcome, Embedded):
                waiter.set_result(outcome)
            else:
                # One instance for each: a raised exception collects the traceback of who caught it.
                waiter.set_exception(type(outcome)(*outcome.args))

    def _embed_all(self, purpose: Purpose, texts: Sequence[str]) -> list[Outcome]:
        """Embed a batch in the worker thread; one text that fails does not fail the others."""
        try:
            return list(self._embed_batch(purpose, texts))
        except EmbedderUnavailable as error:
            # An outage: asking for each text by itself would only take longer to say the same.
            return [type(error)(*error.args) for _ in texts]
        except TimeoutError:
            return [EmbedderSlow("the embedder did not answer in time") for _ in texts]
        except Exception as error:  # noqa: BLE001 - an engine may raise anything; callers get it typed
            if len(texts) == 1:
                # Only the type: the message of a UnicodeError or of an engine may hold the text.
                return [TextFailed(f"the embedder failed: {type(error).__name__}")]
        return [self._embed_all(purpose, [text])[0] for text in texts]

    def _embed_batch(self, purpose: Purpose, texts: Sequence[str]) -> list[Embedded]:
        model = self._embedder.model
        readings = [self._embedder.read(text) for text in texts]
        covered = [
            text
            for text, reading in zip(texts, readings, strict=True)
            if reading.coverage >= model.min_coverage
        ]
        vectors = iter(self._vectors(purpose, covered))
        return [
            Embedded(
                next(vectors) if reading.coverage >= model.min_coverage else None,
                reading.coverage,
                reading.truncated,
            )
            for reading in readings
        ]

    def _vectors(self, purpose: Purpose, texts: list[str]) -> list[Vector]:
        if purpose is Purpose.PASSAGE:
            rows: Iterable[Vector] = self._embedder.embed_passages(texts) if texts else []
        else:
            rows = [self._embedder.embed_query(text) for text in texts]
        vectors = [np.array(row, dtype=np.float32) for row in rows]
        if len(vectors) != len(texts):
            raise ValueError("wrong number of vectors")
        for vector in vectors:
            norm = float(np.linalg.norm(vector))
            # Also false for NaN and infinity, which would poison every order they take part in.
            if vector.shape != (self._embedder.model.dimension,) or not abs(norm - 1) < _NORM_TOLERANCE:
                raise ValueError("not a vector of length 1")
            vector.flags.writeable = False
        return vectors


def _abandon(waiters: Iterable[asyncio.Future[Embedded]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.cancel()
        elif not waiter.cancelled():
            # Marks the exception as seen, so that asyncio does not report it a second time.
            waiter.exception()
