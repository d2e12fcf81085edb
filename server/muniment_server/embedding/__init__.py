"""Turns text into vectors: models, and the service that runs them beside the event loop."""

from muniment_server.embedding.base import (
    Calibration,
    Embedder,
    EmbeddingModel,
    Reading,
    Vector,
    covers,
    passage_text,
    to_halfvec,
)
from muniment_server.embedding.batching import EmbeddingService
from muniment_server.embedding.cache import Embedded
from muniment_server.embedding.errors import (
    EmbedderNotInstalled,
    EmbedderOverloaded,
    EmbedderUnavailable,
    EmbeddingError,
    UnreadableText,
)
from muniment_server.embedding.factory import create_embedder

__all__ = [
    "Calibration",
    "Embedded",
    "Embedder",
    "EmbedderNotInstalled",
    "EmbedderOverloaded",
    "EmbedderUnavailable",
    "EmbeddingError",
    "EmbeddingModel",
    "EmbeddingService",
    "Reading",
    "UnreadableText",
    "Vector",
    "covers",
    "create_embedder",
    "passage_text",
    "to_halfvec",
]
