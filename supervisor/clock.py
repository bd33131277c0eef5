"""The owner's clock, in the form that the storage uses."""

import time
from datetime import UTC, datetime
from functools import lru_cache


def now_iso() -> str:
    """Now, as ISO 8601 UTC with milliseconds."""
    now_ms = time.time_ns() // 1_000_000
    return f"{_second(now_ms // 1000)}.{now_ms % 1000:03d}Z"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    """The part that is the same for a second: every call of the service asks for it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
