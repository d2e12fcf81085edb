"""ReviewService: converts, delegates, converts back. Nothing is decided here."""

from typing import Any, TypeAlias

import grpc

from muniment_server._gen.muniment.v1 import review_pb2, review_pb2_grpc
from muniment_server.application.services import Services
from muniment_server.domain.errors import Unimplemented

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class ReviewService(review_pb2_grpc.ReviewServiceServicer):
    """The handlers. Identity, deadline and validation have passed when one is called."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def ListReviews(
        self, request: review_pb2.ListReviewsRequest, context: _Context
    ) -> review_pb2.ListReviewsResponse:
        """See the contract."""
        raise Unimplemented("ListReviews")

    async def DecideReview(
        self, request: review_pb2.DecideReviewRequest, context: _Context
    ) -> review_pb2.DecideReviewResponse:
        """See the contract."""
        raise Unimplemented("DecideReview")
