"""Compaction in the background (interim: nothing is planned yet)."""

from kg.commands import Caller  # noqa: F401
from supervisor.owner import Owner
from supervisor.pool import Pool


class Planning:
    """Interim."""

    def __init__(self, owner: Owner, *, pool: Pool, grace_days: int) -> None:
        self._owner = owner

    def ask(self, key: str) -> None:
        """Nothing yet."""

    async def tick(self) -> None:
        """Nothing yet."""

    def status(self) -> dict[str, object]:
        """Nothing yet."""
        return {}

    def problems(self) -> list[str]:
        """Nothing yet."""
        return []
