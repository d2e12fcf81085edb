"""The consistency token that a client holds for its recalls."""

import threading

from muniment._types import ConsistencyToken


class HeldToken:
    """The token of the freshest write. It only moves forward, in whatever order writes are answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._token: ConsistencyToken | None = None

    @property
    def token(self) -> ConsistencyToken | None:
        """What is held."""
        return self._token

    def offer(self, answered: ConsistencyToken | None) -> None:
        """Hold the token of a write, unless it is older than the one held. One without an order is held."""
        if answered is None:
            return
        with self._lock:
            if self._token is None or answered.order == 0 or answered.order >= self._token.order:
                self._token = answered

    def drop(self, refused: ConsistencyToken) -> None:
        """Forget a token, unless another one has taken its place."""
        with self._lock:
            if self._token is refused:
                self._token = None
