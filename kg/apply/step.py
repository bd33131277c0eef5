"""One event on its way into the world: which parts lack it, and what news it makes."""

from typing import Any

from kg.events import Event
from kg.graph import Change, Graph
from kg.sessions import Session
from kg.world import World

TABLE = "sessions"  # name of the part that holds everything that is no graph
QUIET = frozenset({"checkpoint_written"})  # bookkeeping of files: no reason to write a file


class Step:
    """One event on its way into the world: hands out the parts that lack it."""

    __slots__ = ("_touched", "event", "world")

    def __init__(self, world: World, event: Event) -> None:
        self.world = world
        self.event = event
        self._touched: set[str] = set()

    def graph(self, key: str) -> Graph | None:
        """The graph, if it is readable and lacks this event."""
        if key in self.world.unreadable:
            return None
        graph = self.world.graph(key)
        if graph.seq >= self.event.seq:
            return None
        self._touched.add(key)
        return graph

    def table(self) -> bool:
        """Whether the table lacks this event."""
        if self.world.table_seq >= self.event.seq:
            return False
        self._touched.add(TABLE)
        return True

    def session(self, session_id: str) -> Session | None:
        """A live session, if the table lacks this event."""
        return self.world.sessions.get(session_id) if self.table() else None

    def finish(self) -> frozenset[str]:
        """Mark the parts as holding the event."""
        for key in self._touched - {TABLE}:
            self.world.graph(key).seq = self.event.seq
        if TABLE in self._touched:
            self.world.table_seq = self.event.seq
        return frozenset() if self.event.kind in QUIET else frozenset(self._touched)

    def record(self, graph_key: str, kind: str, node_id: str, **more: Any) -> None:  # noqa: ANN401 - fields of Change
        """Let kg_sync and news know; also for a graph that holds the event already (the record is a cache)."""
        event = self.event
        if graph_key in self.world.unreadable:
            return
        graph = self.world.graph(graph_key)
        graph.record(Change(event.seq, event.ts, event.by, event.project, kind, node_id, **more))
