"""The borders of the core: what the outer floors offer each other, as Protocols.

`web` knows the memory only as `Memory`; `supervisor.owner` is the real one. Fakes in tests are real classes on these
Protocols.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from kg.commands import Answer, Caller, Command, Place


class Memory(Protocol):
    """The one owner of the state, as its callers see it."""

    async def execute(self, command: Command, caller: Caller) -> Answer:
        """Decide and apply one command; return when its events are durable.

        Refusals are answers with `is_error` and a code, never exceptions.
        """
        ...

    async def acknowledge(self, ids: Sequence[str]) -> Mapping[str, bool]:
        """Make the effects of these deliveries hold; False for one that is unknown, done or outdated."""
        ...

    async def locate(self, cwd: str, project_root: str | None) -> Place:
        """Resolve a client's working folder to its project root (spec/storage.md section 11)."""
        ...

    async def explain(self, graph_key: str, node_id: str) -> Mapping[str, object] | None:
        """Why a node is in view or not: its score in parts (kg.scoring.Explanation); None without such a node."""
        ...

    def health(self) -> Mapping[str, object]:
        """State of the service (spec/operations.md section 6), JSON-able."""
        ...
