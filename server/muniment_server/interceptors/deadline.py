"""Third stage: every call has a deadline, and is over when it has passed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from muniment_server.domain.errors import DeadlineExceeded
from muniment_server.interceptors.call import Call
from muniment_server.interceptors.methods import MethodClass

MINIMUM_SECONDS: Final = 0.020
"""With less left a call is refused at once: it could not finish, only cost."""

_ANSWER_SECONDS: Final = 0.050
_ANSWER_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class DeadlineRule:
    """Seconds: `default` for callers that set no deadline, `ceiling` for those that set a long one."""

    default: float
    ceiling: float


DEFAULT_RULES: Final[Mapping[MethodClass, DeadlineRule]] = {
    MethodClass.RECALL: DeadlineRule(5.0, 30.0),
    MethodClass.WRITE: DeadlineRule(10.0, 60.0),
    MethodClass.ERASE: DeadlineRule(60.0, 300.0),
    MethodClass.AUDIT: DeadlineRule(15.0, 60.0),
    MethodClass.EXPORT: DeadlineRule(600.0, 3600.0),
    MethodClass.STREAM: DeadlineRule(60.0, 3600.0),
}


class DeadlineStage:
    """Sets and enforces the deadline, by cancelling what still runs then.

    It ends slightly before the caller's, so that the caller gets the status with its details
    instead of its own transport's timeout.
    """

    name = "deadline"

    def __init__(self, rules: Mapping[MethodClass, DeadlineRule] = DEFAULT_RULES) -> None:
        self.rules = {
            method_class: rules.get(method_class, DEFAULT_RULES[method_class]) for method_class in MethodClass
        }

    async def __call__(self, call: Call) -> object:
        rule = self.rules[call.rule.method_class if call.rule is not None else MethodClass.RECALL]
        left = call.context.time_remaining()
        if left is None:
            seconds = rule.default
        else:
            if left < MINIMUM_SECONDS:
                raise DeadlineExceeded
            seconds = min(left - min(_ANSWER_SECONDS, left * _ANSWER_SHARE), rule.ceiling)
        call.deadline = time.monotonic() + seconds
        try:
            async with asyncio.timeout(seconds) as timer:
                return await call.proceed()
        except TimeoutError as error:
            if timer.expired():
                raise DeadlineExceeded from error
            raise
