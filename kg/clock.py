"""Times as the storage has them: ISO 8601 UTC with milliseconds. They serve people and decay; order is always `seq`."""

from datetime import datetime


def seconds_since(then: str, now: str) -> float:
    """Seconds from `then` to `now`; 0 when `then` lies ahead (no clock is trusted) or is no time."""
    try:
        age = (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
    return max(0.0, age)
