"""A reranker in this process: a cross-encoder through `sentence-transformers`.

PyTorch comes with it, which is gigabytes on Linux: therefore an extra of its own. Nothing is downloaded for a
folder or an installed package; a bare name is looked up by the library, which may download it once, so give a
folder where that must not be. Nothing that it reads leaves the process.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .base import RerankFailed, RerankLate, shares

_BATCH = 8
"""Pairs between two looks at the clock."""
_LONGEST_NAME = 128


class CrossEncoderReranker:
    """A loaded cross-encoder with one output. Bound to the processor: one query at a time, off the loop."""

    remote = False

    def __init__(self, source: str, model: Any = None) -> None:
        """source: a folder, a package or a model's name. Raises RerankFailed when it cannot be had."""
        folder = _folder(source)
        try:
            torch: Any = import_module("torch")
            if model is None:
                model = import_module("sentence_transformers").CrossEncoder(
                    str(folder) if folder is not None else source,
                    device="cpu",
                    local_files_only=folder is not None,
                )
            self._model: Any = model
            self._sigmoid: Any = torch.nn.Sigmoid()
        except ImportError as error:
            raise RerankFailed(
                f"it needs muniment-server[sentence-transformers]; missing: {error.name}"
            ) from error
        except Exception as error:
            # The library raises whatever its parts raise.
            raise RerankFailed(f"the model cannot be loaded: {type(error).__name__}") from error
        if int(self._model.num_labels) != 1:
            raise RerankFailed("the model has more than one output: it is no reranker")
        self._name = (source.rstrip("/").rsplit("/", 1)[-1] if folder is not None else source)[:_LONGEST_NAME]
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="muniment-rerank")
        self._run(["warm up"], "", time.monotonic() + 60, threading.Event())

    @property
    def name(self) -> str:
        """The model's name, or that of its folder."""
        return self._name

    async def close(self) -> None:
        """End the thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def rerank(self, query: str, documents: Sequence[str], patience: float) -> list[float]:
        """See Reranker."""
        left = threading.Event()
        end = time.monotonic() + patience
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(patience):
                return await loop.run_in_executor(self._threads, self._run, documents, query, end, left)
        except TimeoutError:
            raise RerankLate("not done in time") from None
        finally:
            # Whoever waits is gone: the thread gives up before its next batch.
            left.set()

    def _run(self, documents: Sequence[str], query: str, end: float, left: threading.Event) -> list[float]:
        found: list[float] = []
        for start in range(0, len(documents), _BATCH):
            if left.is_set() or time.monotonic() > end:
                raise RerankLate("not done in time")
            pairs = [(query, document) for document in documents[start : start + _BATCH]]
            try:
                made = self._model.predict(
                    pairs,
                    batch_size=_BATCH,
                    activation_fn=self._sigmoid,
                    convert_to_numpy=True,
                    show_progress_bar=False,
                )
            except (RuntimeError, ValueError, IndexError) as error:
                raise RerankFailed(type(error).__name__) from None
            found += [float(score) for score in np.asarray(made, dtype=np.float64).reshape(-1)]
        return shares(found)


def _folder(source: str) -> Path | None:
    """The folder of a model: given as such, or inside an installed package of that name."""
    path = Path(source)
    if (path / "config.json").is_file():
        return path.resolve()
    if source.replace("-", "_").isidentifier():
        spec = find_spec(source.replace("-", "_"))
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            found = next(iter(sorted(Path(place).rglob("config.json"))), None)
            if found is not None:
                return found.parent
    return None
