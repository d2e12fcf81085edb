"""The models in use by a process: the one that Recall compares with, and the one it is being changed to."""

from dataclasses import dataclass
from uuid import UUID

from muniment_server.embedding.base import EmbeddingModel
from muniment_server.embedding.batching import EmbeddingService
from muniment_server.retrieval.analysis import ANALYZER_VERSION


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A loaded model and its number in the database."""

    model_no: int
    embeddings: EmbeddingService

    @property
    def model(self) -> EmbeddingModel:
        """Identity and calibration."""
        return self.embeddings.model


@dataclass(slots=True)
class Models:
    """What a process embeds with. Take `current` once for a call: it may be another one afterwards.

    upcoming: the model of a running change; a write has vectors of both then. change: that change's id.
    oldest_analyzer: the oldest version of the text analysis whose terms a query has to be looked for with.
    """

    current: LiveModel
    upcoming: LiveModel | None = None
    change: UUID | None = None
    oldest_analyzer: int = ANALYZER_VERSION

    def clear(self) -> None:
        """Forget all cached vectors, of every model. An erasure calls this."""
        self.current.embeddings.clear()
        if self.upcoming is not None:
            self.upcoming.embeddings.clear()
