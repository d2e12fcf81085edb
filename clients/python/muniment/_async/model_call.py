"""The model call that recalled memories go into: its span says which, and the service hears which."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Protocol, Self

from opentelemetry.trace import Span

from muniment import _tracing
from muniment._enums import UseOutcome
from muniment._errors import MunimentError
from muniment._types import Memory, RankedMemory, Recalled, UseReported

_log: Final = logging.getLogger("muniment")


class AsyncReport(Protocol):
    """`report_use` of the client."""

    async def __call__(
        self,
        recall_id: str,
        memory_ids: Sequence[str],
        *,
        outcome: UseOutcome | str | None,
        model: str,
        prompt_ref: str,
        timeout: float | None,
    ) -> UseReported:
        """As the client's method."""
        ...


class AsyncModelCall:
    """One call of a model; made by `client.model_call`. All attributes may be set inside the block."""

    outcome: UseOutcome | str | None
    """What the memories did for the prompt; None: no judgement."""
    model: str
    """Name of the model that was prompted."""
    prompt_ref: str
    """The caller's pointer to the prompt; no personal data."""
    report_error: MunimentError | None
    """Why the report was not recorded, after the block; None when it was."""

    def __init__(
        self,
        report: AsyncReport,
        recalls: tuple[Recalled, ...],
        *,
        span: Span | None,
        outcome: UseOutcome | str | None,
        model: str,
        prompt_ref: str,
        strict: bool,
        timeout: float | None,
    ) -> None:
        self.outcome = outcome
        self.model = model
        self.prompt_ref = prompt_ref
        self.report_error = None
        self._report = report
        self._recalls = recalls
        self._used = {each.recall_id: each.prompt_memory_ids for each in recalls}
        self._strict = strict
        self._timeout = timeout
        self._scope: AbstractContextManager[Span] = _tracing.model_call_span(span)
        self._spans: list[Span] = []

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """The memories that will be reported: those of the packed contexts, unless `use` says otherwise."""
        return tuple(memory_id for ids in self._used.values() for memory_id in ids)

    def use(self, memories: Iterable[str | RankedMemory | Memory]) -> None:
        """State which memories really entered the prompt, in their order there; may be none.

        Raises ValueError for a memory that no recall of this call offered.
        """
        used: dict[str, list[str]] = {each.recall_id: [] for each in self._recalls}
        for memory in memories:
            memory_id = memory if isinstance(memory, str) else memory.memory_id
            for recalled in self._recalls:
                if memory_id in recalled.memory_ids:
                    used[recalled.recall_id].append(memory_id)
                    break
            else:
                raise ValueError(f"memory {memory_id} was not offered by this recall")
        self._used = {recall_id: tuple(dict.fromkeys(ids)) for recall_id, ids in used.items()}
        for span in self._spans:
            self._write_ids(span)

    def stamp(self, span: Span) -> None:
        """Say it on one more span, for example one that was opened inside the block."""
        for recalled in self._recalls:
            recalled.stamp(span, self._used[recalled.recall_id])
        self._write_ids(span)
        self._spans.append(span)

    def _write_ids(self, span: Span) -> None:
        if span.is_recording():
            span.set_attributes(_tracing.stamp_attributes(self._recalls[0].recall_id, self.memory_ids))

    async def __aenter__(self) -> Self:
        self.stamp(self._scope.__enter__())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                await self._send()
        finally:
            self._scope.__exit__(kind, error, trace)

    async def _send(self) -> None:
        for recall_id, memory_ids in self._used.items():
            try:
                await self._report(
                    recall_id,
                    memory_ids,
                    outcome=self.outcome,
                    model=self.model,
                    prompt_ref=self.prompt_ref,
                    timeout=self._timeout,
                )
            except MunimentError as failure:
                if self._strict:
                    raise
                # The model has answered; losing that answer to a failed report would be worse.
                self.report_error = failure
                _log.warning(
                    "use of recall %s was not reported: %s", recall_id, failure.reason or failure.code
                )
