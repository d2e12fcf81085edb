"""The extractors that this server has."""

from collections.abc import Mapping

from muniment_server.domain.extraction.candidate import ExtractorKind

from .base import Extractor, RulesExtractor
from .chat import ChatModel
from .llm import HybridExtractor, LlmExtractor


def extractors(model: ChatModel | None) -> Mapping[ExtractorKind, Extractor]:
    """The rules always; the others where a language model is configured."""
    found: dict[ExtractorKind, Extractor] = {ExtractorKind.RULES: RulesExtractor()}
    if model is not None:
        asking = LlmExtractor(model)
        found[ExtractorKind.LLM] = asking
        found[ExtractorKind.HYBRID] = HybridExtractor(asking)
    return found
