"""A language model behind an endpoint that speaks the chat completions of OpenAI's API.

Its answer is data: it is read as JSON of a given schema and believed in nothing else. Neither what is sent
nor what comes back stands in a log, a span or an error; the key never leaves the request's header.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muniment_server.outbound import AnswerTooLong, EndpointClient, Late, Unanswered
from muniment_server.telemetry.spans import chat_span

from .errors import LlmError, LlmInvalidAnswer, LlmTimeout, LlmUnavailable

_log = logging.getLogger(__name__)

_CONNECT_SECONDS = 3.0
_PATH = "chat/completions"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is. url: base, for example `https://host/v1`. timeout: seconds for a whole answer."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 20.0


class ChatModel:
    """Asks one model for JSON. Several questions at once are fine; `parallel` of them at most."""

    def __init__(self, endpoint: Endpoint, *, parallel: int = 4) -> None:
        self.endpoint = endpoint
        connect = min(_CONNECT_SECONDS, endpoint.timeout)
        self._client = EndpointClient(endpoint.url, endpoint.key, parallel=parallel, connect=connect)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(
        self,
        instructions: str,
        question: str,
        *,
        name: str,
        schema: Mapping[str, Any],
        patience: float | None = None,
        most_tokens: int = 4_096,
    ) -> Any:
        """The model's answer as JSON values; whoever asks checks them against the schema.

        name: of the schema, a plain word. patience: seconds to wait at most; the endpoint's timeout is the
        ceiling. Raises LlmUnavailable, LlmTimeout or LlmInvalidAnswer.
        """
        seconds = self.endpoint.timeout if patience is None else min(patience, self.endpoint.timeout)
        body = {
            "model": self.endpoint.model,
            "temperature": 0,
            "max_tokens": most_tokens,
            "messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": question},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": name, "strict": True, "schema": schema},
            },
        }
        with chat_span(self.endpoint.model):
            try:
                return _answer(await self._client.post(_PATH, body, seconds))
            except Late as fault:
                error: LlmError = LlmTimeout(str(fault))
            except AnswerTooLong:
                error = LlmInvalidAnswer("too long")
            except Unanswered as fault:
                error = LlmUnavailable(str(fault))
            except LlmError as fault:
                error = fault
            _log.warning("the language model failed: %s: %s", type(error).__name__, error)
            raise error from None


def _answer(raw: bytes) -> Any:
    """The JSON in the first choice of a completion."""
    try:
        choice = json.loads(raw)["choices"][0]
        message = choice["message"]
        if message.get("refusal"):
            raise LlmUnavailable("it refuses")
        if choice.get("finish_reason") == "content_filter":
            raise LlmUnavailable("it refuses")
        if choice.get("finish_reason") not in (None, "stop"):
            raise LlmInvalidAnswer("not finished")
        return json.loads(message["content"])
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        # ValueError covers what is no JSON and what is no UTF-8.
        raise LlmInvalidAnswer("not the JSON that was asked for") from None
