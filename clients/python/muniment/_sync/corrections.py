# Made from _async/corrections.py by `make sync`. Do not edit.
# ruff: noqa: C416, RUF100, SIM117, UP028
"""The methods that put back, end, take back and decide."""

from datetime import datetime
from uuid import UUID

from muniment import _decode_subject, _encode, _rpcs
from muniment._enums import MemoryState, MemoryView, ReviewDecision, TrustLevel
from muniment._subject_types import Restored, Retracted, Review, ReviewDecisionMade, Undone
from muniment._sync.calls import Calls
from muniment._sync.pages import Page, Pages
from muniment._types import ConsistencyToken
from muniment._values import enum, enums, identifier, text, timestamp
from muniment.v1 import correction_pb2, review_pb2


class CorrectionMethods:
    """Corrections beside `supersede`, and the review queue."""

    _calls: Calls

    def _wrote(self, token: ConsistencyToken | None) -> None:
        raise NotImplementedError

    def restore(
        self,
        memory_id: str | UUID,
        *,
        etag: str = "",
        revision: int | None = None,
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> Restored:
        """Make a superseded or archived memory live again; what replaced it is superseded by it.

        revision: to go back to; None: the last one in which it was active.

        Raises NotFound, Conflict, FailedPrecondition.
        """
        request = correction_pb2.RestoreRequest(
            memory_id=identifier(memory_id, "memory_id"),
            etag=text(etag, "etag"),
            revision=revision,
            request_id=_encode.request_id(request_id),
        )
        answer = self._calls.unary(_rpcs.RESTORE, self._calls.memory.Restore, request, timeout)
        restored = _decode_subject.restored(answer.message)
        self._wrote(restored.consistency_token)
        return restored

    def retract(
        self,
        memory_id: str | UUID,
        *,
        etag: str = "",
        end_time: datetime | None = None,
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> Retracted:
        """End a memory that was true until now, with nothing in its place: it is archived.

        end_time: since when it is no longer true; None: now. Raises NotFound, Conflict,
        FailedPrecondition.
        """
        request = correction_pb2.RetractRequest(
            memory_id=identifier(memory_id, "memory_id"),
            etag=text(etag, "etag"),
            request_id=_encode.request_id(request_id),
        )
        if end_time is not None:
            request.end_time.CopyFrom(timestamp(end_time, "end_time"))
        answer = self._calls.unary(_rpcs.RETRACT, self._calls.memory.Retract, request, timeout)
        retracted = _decode_subject.retracted(answer.message)
        self._wrote(retracted.consistency_token)
        return retracted

    def undo_write(
        self,
        write_request_id: str | UUID,
        *,
        dry_run: bool = False,
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> Undone:
        """Take back a whole write, supersede or import by its request id, within 72 hours.

        What it created is archived, what it replaced is active again; what changed since is left.
        dry_run: only say what would be done. Raises NotFound.
        """
        request = correction_pb2.UndoWriteRequest(
            write_request_id=identifier(write_request_id, "write_request_id"),
            validate_only=dry_run,
            request_id=_encode.request_id(request_id),
        )
        answer = self._calls.unary(_rpcs.UNDO_WRITE, self._calls.memory.UndoWrite, request, timeout)
        undone = _decode_subject.undone(answer.message)
        if not dry_run:
            self._wrote(undone.consistency_token)
        return undone

    def list_reviews(
        self,
        *,
        subject: str | None = None,
        space: str | None = None,
        states: tuple[MemoryState | str, ...] = (),
        view: MemoryView | str | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Pages[Review]:
        """What waits for a person's decision, oldest first, all pages.

        subject, space: None: those of the whole tenant. states: PENDING and QUARANTINED; none: both.
        view: BASIC leaves out the contents; None: FULL, which is the contract's default here.
        """
        where = None if subject is None and space is None else _encode.scope(subject, space, None, None)
        wanted = enums(MemoryState, states, "states")
        how = enum(MemoryView, MemoryView.UNSPECIFIED if view is None else view, "view")

        def fetch(page_token: str) -> Page[Review]:
            request = review_pb2.ListReviewsRequest(
                scope=where, states=wanted, page_size=page_size, page_token=page_token, view=how
            )
            answer = self._calls.unary(_rpcs.LIST_REVIEWS, self._calls.review.ListReviews, request, timeout)
            return Page(
                tuple(map(_decode_subject.review, answer.message.reviews)),
                answer.message.next_page_token,
                tuple(answer.message.seal_broken_memory_ids),
            )

        return Pages(fetch)

    def decide_review(
        self,
        memory_id: str | UUID,
        decision: ReviewDecision | str,
        *,
        content: str = "",
        trust: TrustLevel | str | None = None,
        etag: str = "",
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> ReviewDecisionMade:
        """Decide: "approve", "edit" (with the new `content`) or "reject".

        trust: that the reviewer vouches for; None: the memory keeps its own. Raises NotFound, Conflict,
        FailedPrecondition.
        """
        request = review_pb2.DecideReviewRequest(
            memory_id=identifier(memory_id, "memory_id"),
            etag=text(etag, "etag"),
            decision=enum(ReviewDecision, decision, "decision"),
            content=text(content, "content"),
            trust=enum(TrustLevel, TrustLevel.UNSPECIFIED if trust is None else trust, "trust"),
            request_id=_encode.request_id(request_id),
        )
        answer = self._calls.unary(_rpcs.DECIDE_REVIEW, self._calls.review.DecideReview, request, timeout)
        decided = _decode_subject.decided(answer.message)
        self._wrote(decided.consistency_token)
        return decided
