"""The reranker that is configured."""

from muniment_server.config import ConfigError, Settings

from .base import Reranker, RerankFailed
from .cross_encoder import CrossEncoderReranker
from .http import Endpoint, HttpReranker


def configured_reranker(settings: Settings) -> Reranker | None:
    """None where there is none. Raises ConfigError for one that cannot be had."""
    match settings.rerank:
        case "cross-encoder":
            try:
                return CrossEncoderReranker(settings.rerank_model or "")
            except RerankFailed as error:
                raise ConfigError(f"MUNIMENT_RERANK_MODEL: {error}") from None
        case "http":
            return HttpReranker(
                Endpoint(
                    settings.rerank_url or "",
                    settings.rerank_model or "",
                    _key(settings),
                    settings.rerank_scale,
                    settings.rerank_timeout,
                )
            )
        case _:
            return None


def _key(settings: Settings) -> str | None:
    key = settings.rerank_key.get_secret_value() if settings.rerank_key is not None else None
    if settings.rerank_key_file is not None:
        try:
            key = settings.rerank_key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise ConfigError("MUNIMENT_RERANK_KEY_FILE: the file cannot be read") from None
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ConfigError("MUNIMENT_RERANK_KEY: must be printable ASCII in one line")
    return key or None
