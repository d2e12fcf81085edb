"""The judge that is configured."""

from muniment_server.config import ConfigError, Settings
from muniment_server.extraction.chat import ChatModel

from .base import Judge, JudgeFailed
from .llm import LlmJudge
from .nli import NliJudge


def configured_judge(settings: Settings, chat: ChatModel | None) -> Judge | None:
    """None where there is none. Raises ConfigError for one that cannot be had."""
    match settings.judge:
        case "llm":
            if chat is None:
                raise ConfigError("MUNIMENT_JUDGE: 'llm' needs MUNIMENT_LLM_URL and MUNIMENT_LLM_MODEL")
            return LlmJudge(chat)
        case "nli":
            try:
                return NliJudge(settings.judge_model)
            except JudgeFailed as error:
                raise ConfigError(f"MUNIMENT_JUDGE_MODEL: {error}") from None
        case _:
            return None
