"""ReviewService: converts, delegates, converts back. Nothing is decided here."""

from typing import Any, TypeAlias
from uuid import UUID

import grpc

from muniment_server._gen.muniment.v1 import memory_pb2, review_pb2, review_pb2_grpc
from muniment_server.api import answers, convert, writing_answers
from muniment_server.application.review import DecideCommand, ReviewDecision, Reviewed, decide
from muniment_server.application.review_queue import Review, list_reviews
from muniment_server.application.services import Services
from muniment_server.domain.model import MemoryState, TrustLevel
from muniment_server.identity.principal import current_call

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class ReviewService(review_pb2_grpc.ReviewServiceServicer):
    """The handlers. Identity, deadline and validation have passed when one is called."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def ListReviews(
        self, request: review_pb2.ListReviewsRequest, context: _Context
    ) -> review_pb2.ListReviewsResponse:
        """See the contract."""
        page = await list_reviews(
            self._services,
            current_call(),
            scope=convert.scope(request.scope) if request.HasField("scope") else None,
            states=[MemoryState(state) for state in request.states],
            page_size=request.page_size,
            page_token=request.page_token,
            arguments=convert.payload(request, "page_size", "page_token"),
            full=request.view != memory_pb2.MEMORY_VIEW_BASIC,
        )
        return review_pb2.ListReviewsResponse(
            reviews=[_review(one) for one in page.reviews],
            next_page_token=page.next_token,
            seal_broken_memory_ids=[str(memory_id) for memory_id in page.broken],
        )

    async def DecideReview(
        self, request: review_pb2.DecideReviewRequest, context: _Context
    ) -> review_pb2.DecideReviewResponse:
        """See the contract."""
        command = DecideCommand(
            memory_id=UUID(request.memory_id),
            etag=request.etag,
            decision=ReviewDecision(request.decision),
            content=request.content,
            trust=TrustLevel(request.trust) if request.trust else None,
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        )

        def encode(reviewed: Reviewed) -> bytes:
            return review_pb2.DecideReviewResponse(
                memory=answers.memory(reviewed.memory),
                superseded_memory_id=str(reviewed.superseded) if reviewed.superseded else "",
                consistency_token=answers.token(reviewed.consistency_token),
                request_id=request.request_id,
            ).SerializeToString()

        return review_pb2.DecideReviewResponse.FromString(
            await decide(self._services, current_call(), command, encode)
        )


def _review(value: Review) -> review_pb2.Review:
    return review_pb2.Review(
        memory=answers.memory(value.memory),
        rule=value.rule,
        explanation=writing_answers.explanation(value.rule),
        would_supersede_memory_id=str(value.would_supersede) if value.would_supersede else "",
        possible_conflicts=writing_answers.conflicts(value.conflicts),
        create_time=answers.timestamp(value.create_time),
        expire_time=answers.timestamp(value.expire_time),
    )
