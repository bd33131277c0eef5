"""The owner's clock, in the form that the storage uses."""

from datetime import UTC, datetime


def now_iso() -> str:
    """Now, as ISO 8601 UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
