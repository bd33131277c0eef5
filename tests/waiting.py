"""Waiting for a condition instead of sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
STEP_S = 0.01


def until(condition: Callable[[], T], *, within_s: float = 10.0) -> T:
    """Return the first truthy value of `condition`, or fail after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"nothing came of {condition} within {within_s} s")
        time.sleep(STEP_S)
    return value
