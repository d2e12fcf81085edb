"""Pools of connections, whatever the connections are for."""

import asyncio
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

_Connection = TypeVar("_Connection", bound=AsyncConnection[Any])


class ConnectionPool(AsyncConnectionPool[_Connection]):
    """A pool that gives no connection to who was cancelled while waiting for it.

    The driver's pool waits by asyncio.wait_for, which before Python 3.12 forgets a cancellation that comes
    in the same moment as the connection: the call would go on beyond its deadline, the task beyond its stop.
    """

    async def getconn(self, timeout: float | None = None) -> _Connection:
        """See AsyncConnectionPool."""
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        connection = await super().getconn(timeout)
        if task is not None and task.cancelling() > before:
            await asyncio.shield(self.putconn(connection))
            raise asyncio.CancelledError
        return connection
