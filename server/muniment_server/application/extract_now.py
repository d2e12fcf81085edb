"""Extraction within a call: for a caller who waits for the candidates."""

import asyncio
from typing import Final
from uuid import UUID

from muniment_server.identity.principal import CallContext

from .extract import Ran, extract_due
from .get_ingest import Progress, get_ingest
from .services import Services

_ANSWER_SECONDS: Final = 0.3
"""Kept of the caller's deadline for the answer, which says what was not done by then."""
_POLL_SECONDS: Final = 0.05


async def extract_now(
    services: Services, context: CallContext, conversation: UUID, ingest_id: UUID
) -> Progress:
    """Make candidates of what waits in a conversation, up to the given ingest, and say how far that came.

    Still QUEUED or RUNNING when the time runs out, or when an attempt failed and is tried again later.
    """
    found = await get_ingest(services, context, ingest_id)
    while not found.state.ended:
        left = context.remaining() - _ANSWER_SECONDS
        if left <= 0:
            break
        ran = await extract_due(services, context.tenant_id, conversation, left)
        found = await get_ingest(services, context, ingest_id)
        if ran is Ran.PUT_OFF:
            break
        if ran is Ran.NOTHING and not found.state.ended:
            # Somebody else is at it.
            await asyncio.sleep(min(_POLL_SECONDS, left))
    # What is left is the worker's, who was not told before so that the two do not get in each other's way.
    services.on_ingested(context.tenant_id)
    return found
