"""Polling with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

from local_stack.exceptions import WaitTimeoutError

T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], timeout_s: float, what: str, interval_s: float = 0.2) -> T:
    """Returns the first truthy value of `condition`, asked every `interval_s` seconds.

    `what` completes the sentence "... did not happen" of the error, so name the awaited state:
    `wait_until(broker_answers, 60, "the broker answers")`. An exception of `condition` is not caught: a
    condition that may fail while it waits says so itself, by returning a false value.

    Raises WaitTimeoutError after `timeout_s` seconds, with the last value seen.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise WaitTimeoutError(f"waited {timeout_s:g} s in vain until {what} (last value: {value!r})")
        time.sleep(interval_s)
