"""The service's clock in a test's hand."""

from datetime import UTC, datetime, timedelta


class MovableClock:
    """The present, and as much ahead of it as a test says."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def pass_by(self, **time: float) -> datetime:
        """Let time pass, in the words of timedelta; returns an instant half-way through it."""
        step = timedelta(**time)
        self.ahead += step
        return self() - step / 2
