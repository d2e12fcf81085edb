"""Keeps the models of a process those that the database says: loaded for a change, switched with it."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from muniment_server.embedding.base import Embedder
from muniment_server.embedding.batching import EmbeddingService
from muniment_server.embedding.errors import EmbeddingError
from muniment_server.embedding.live import LiveModel, Models
from muniment_server.storage.database import Database
from muniment_server.storage.reindexing import ModelRow, models_in_use

_log = logging.getLogger("muniment.models")

_POLL_SECONDS = 5.0
_RETRY_SECONDS = 30.0
_RETIRE_SECONDS = 15.0
"""How long a model that is not in use any more goes on for calls that began with it."""


class ModelKeeper:
    """Looks into the database every few seconds, and at once when it is told to.

    load: makes the embedder of a setting; blocking, raises EmbeddingError or ValueError.
    """

    def __init__(self, models: Models, database: Database, load: Callable[[str], Embedder]) -> None:
        self._models = models
        self._database = database
        self._load = load
        self._lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self._failed: dict[int, float] = {}

    def wake(self) -> None:
        """Look soon."""
        self._wake.set()

    async def start(self) -> None:
        """Look once, and begin to look again and again."""
        await self.refresh()
        self._task = asyncio.create_task(self._run(), name="muniment-models")

    async def stop(self) -> None:
        """Stop looking, and stop every model but the one in use."""
        tasks = [task for task in (self._task, *self._retiring) if task is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        if self._models.upcoming is not None:
            await self._models.upcoming.embeddings.stop()

    async def _run(self) -> None:
        while True:
            try:
                await self.refresh()
            except Exception as error:  # noqa: BLE001 - tried again in a while
                _log.warning("the models in use could not be read: %s", type(error).__name__)
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._wake.wait()
            self._wake.clear()

    async def refresh(self) -> None:
        """Bring the models of the process to what the database says, as far as they can be loaded."""
        async with self._lock:
            rows = await models_in_use(self._database)
            in_use = next(row for row in rows if row.in_use)
            wanted = next((row for row in rows if row.reindex_id is not None and not row.in_use), None)
            self._models.oldest_analyzer = in_use.analyzer
            await self._use(in_use)
            await self._expect(wanted)

    async def _use(self, row: ModelRow) -> None:
        models = self._models
        if models.current.model_no == row.model_no:
            return
        upcoming = models.upcoming
        if upcoming is not None and upcoming.model_no == row.model_no:
            fresh: LiveModel | None = upcoming
        else:
            fresh = await self._loaded(row)
        if fresh is None:
            return
        before, models.current = models.current, fresh
        if fresh is upcoming:
            models.upcoming = models.change = None
        _log.info("the embedding model in use is %s now, after %s", fresh.model.name, before.model.name)
        self._retire(before)

    async def _expect(self, row: ModelRow | None) -> None:
        models = self._models
        present = models.upcoming
        if row is None or row.model_no == models.current.model_no:
            models.upcoming = models.change = None
        elif present is None or present.model_no != row.model_no:
            models.upcoming = await self._loaded(row)
            models.change = row.reindex_id
        else:
            models.change = row.reindex_id
        if present is not None and present not in (models.upcoming, models.current):
            self._retire(present)

    async def _loaded(self, row: ModelRow) -> LiveModel | None:
        loop = asyncio.get_running_loop()
        if self._failed.get(row.model_no, 0.0) > loop.time():
            return None
        try:
            embedder = await asyncio.to_thread(self._load, row.setting)
            model = embedder.model
            if (model.name, model.digest, model.dimension) != (row.name, row.digest, row.dimension):
                raise EmbeddingError(f"the embedder {row.setting!r} of this process is another model")
            service = EmbeddingService(embedder)
            await service.start()
        except (EmbeddingError, ValueError) as error:
            self._failed[row.model_no] = loop.time() + _RETRY_SECONDS
            _log.error("the embedding model %s cannot be loaded: %s", row.name, error)
            return None
        _log.info("loaded the embedding model %s", row.name)
        return LiveModel(row.model_no, service)

    def _retire(self, live: LiveModel) -> None:
        async def end() -> None:
            try:
                await asyncio.sleep(_RETIRE_SECONDS)
            finally:
                await live.embeddings.stop()

        task = asyncio.create_task(end(), name="muniment-model-retires")
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
