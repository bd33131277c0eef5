"""A memory that remembers what it was asked: a real class on kg.ports.Memory, for tests of the web floor."""

from collections.abc import Mapping, Sequence

from kg.commands import Answer, Caller, Command, Place


class RecordingMemory:
    """Answers every command with `answer` (or raises it, if it is an exception)."""

    def __init__(self, answer: Answer | Exception | None = None) -> None:
        self.answer = answer or Answer("done")
        self.commands: list[tuple[Command, Caller]] = []
        self.acknowledged: list[str] = []
        self.located: list[tuple[str, str | None]] = []

    async def execute(self, command: Command, caller: Caller) -> Answer:
        self.commands.append((command, caller))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def acknowledge(self, ids: Sequence[str]) -> Mapping[str, bool]:
        self.acknowledged.extend(ids)
        return dict.fromkeys(ids, True)

    async def locate(self, cwd: str, project_root: str | None) -> Place:
        self.located.append((cwd, project_root))
        return Place(cwd)

    async def explain(self, graph_key: str, node_id: str) -> Mapping[str, object] | None:
        return {"id": node_id, "graph": graph_key} if node_id != "missing" else None

    def health(self) -> Mapping[str, object]:
        return {"status": "ok", "version": "1.2.3", "root": "/secret"}
