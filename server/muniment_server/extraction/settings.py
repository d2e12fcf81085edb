"""The configured language model."""

from muniment_server.config import ConfigError, Settings

from .chat import ChatModel, Endpoint


def chat_model(settings: Settings) -> ChatModel | None:
    """The model behind the configured endpoint, or None. Raises ConfigError for a key that cannot be sent."""
    if settings.llm_url is None or settings.llm_model is None:
        return None
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key is not None else None
    if settings.llm_api_key_file is not None:
        try:
            key = settings.llm_api_key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise ConfigError("MUNIMENT_LLM_API_KEY_FILE: the file cannot be read") from None
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ConfigError("MUNIMENT_LLM_API_KEY: must be printable ASCII in one line")
    return ChatModel(Endpoint(settings.llm_url, settings.llm_model, key or None, settings.llm_timeout))
