"""An owner in memory: the real `decide` and `apply`, a log of encoded lines, and parts that are saved when asked.

It does what supervisor/owner.py does, without a loop and without a disk. Replies arrive at once unless a test says
`arrives=False`; then the test decides whether and when their delivery is acknowledged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from kg.apply import TABLE, apply
from kg.codec import event_from_line, event_line, from_json, graph_pieces, table_bytes
from kg.commands import (
    Caller,
    Command,
    DeleteEdge,
    DeleteNode,
    Place,
    Progress,
    PromptSubmitted,
    PutEdge,
    PutNode,
    Read,
    RenameNode,
    Search,
    SessionStarted,
    Sync,
    Useful,
)
from kg.decide import decide
from kg.delivery import Outbox
from kg.events import Body, Event
from kg.graph import Edge, Graph, Node
from kg.graphfile import graph_meta, parse_graph
from kg.sessions import Session
from kg.table import load_table, table_document
from kg.world import World

APP = Place("/home/ada/app")
OTHER = Place("/home/ada/other")
START = datetime.fromisoformat("2026-03-02T09:00:00.000+00:00")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, and the events behind it."""

    text: str
    code: str | None
    delivery: str | None
    session: str | None
    effects: tuple[Any, ...]
    events: tuple[Event, ...]
    logs: tuple[Any, ...]
    notice: str | None

    @property
    def seq(self) -> int:
        """Of the last event."""
        return self.events[-1].seq


class Peer:
    """Owner, shell and clients of one storage folder."""

    def __init__(self) -> None:
        self.starts = 0
        self.world = self._new_world()
        self.log: list[bytes] = []
        self.saved: dict[str, bytes] = {}
        self.clock = START
        self.sessions_made = 0

    def _new_world(self) -> World:
        self.starts += 1
        world = World(Outbox(f"start{self.starts}"))
        world.graph("user")
        world.graph("maintain")
        return world

    # --- the owner's steps -----------------------------------------------------------------------------------

    @property
    def now(self) -> str:
        return self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def wait(self, **time: float) -> None:
        self.clock += timedelta(**time)

    def call(self, command: Command, *, caller: Caller | None = None, arrives: bool = True) -> Reply:
        self.wait(seconds=1)
        fresh = f"{0xA0000000 + self.sessions_made:08x}"
        decision = decide(self.world, command, caller or Caller(), now=self.now, fresh=fresh)
        for event in decision.events:
            self._append(event)
        if fresh in self.world.sessions:
            self.sessions_made += 1
        delivery = None
        session = self.world.sessions.get(decision.session or "")
        if session is not None and (decision.effects or decision.part is not None):
            delivery = self.world.outbox.post(
                session.id, context=session.contexts, rendered_seq=self.world.seq, effects=decision.effects,
                part=decision.part,
            ).id  # fmt: skip
        reply = Reply(
            decision.text, decision.code, delivery, session.id if session else None, decision.effects,
            decision.events, decision.logs, decision.notice,
        )  # fmt: skip
        if arrives:
            self.ack(reply)
        return reply

    def _append(self, event: Event) -> None:
        assert event.seq == self.world.seq + 1
        self.log.append(event_line(event))
        apply(self.world, event)

    def emit(self, kind: str, *, by: str = "kg", **body: Any) -> Event:
        self.wait(seconds=1)
        event = Event(self.world.seq + 1, self.now, kind, by, None, body)
        self._append(event)
        return event

    def emit_all(self, bodies: Sequence[Body], *, by: str = "kg") -> None:
        if bodies:
            self.emit("batch", by=by, events=list(bodies))

    def ack(self, reply: Reply | str | None) -> bool:
        delivery_id = reply.delivery if isinstance(reply, Reply) else reply
        delivery = self.world.outbox.take(delivery_id) if delivery_id else None
        session = self.world.sessions.get(delivery.session) if delivery else None
        if delivery is None or session is None or delivery.context != session.contexts:
            return False
        body: Body = {
            "session": session.id, "context": delivery.context, "effects": [list(each) for each in delivery.effects],
        }  # fmt: skip
        if delivery.part is not None:
            body["part"] = delivery.part
        self.emit("delivery_acked", by=session.writer, **body)
        return True

    # --- files and restarts ----------------------------------------------------------------------------------

    def save(self, *parts: str) -> None:
        """Write parts as they are now; all of them when none is named."""
        for part in parts or (TABLE, *self.world.graphs):
            self.saved[part] = file_of(self.world, part)

    def restart(self, *, from_log: bool = False, events: int | None = None) -> None:
        """Die and load again: the saved parts, or nothing, and the log behind them, perhaps cut after some events."""
        if from_log:
            self.saved = {}
        if events is not None:
            self.log = self.log[:events]
        self.world = loaded(self._new_world(), self.saved, self.log)

    # --- clients ---------------------------------------------------------------------------------------------

    def open(self, place: Place | None = APP, **caller: Any) -> str:
        """A session that kg_read opened."""
        reply = self.call(Read(place=place), caller=Caller(**caller))
        assert reply.session is not None
        return reply.session

    def read(
        self, sid: str | None, *ids: str, arrives: bool = True, caller: Caller | None = None, **more: Any
    ) -> Reply:
        return self.call(Read(session_id=sid, ids=ids, **more), caller=caller, arrives=arrives)

    def search(self, query: str, sid: str | None = None, *, arrives: bool = True, **more: Any) -> Reply:
        return self.call(Search(query, session_id=sid, **more), arrives=arrives)

    def put(
        self, sid: str, node_id: str, gist: str = "one claim", notes: Sequence[str] | None = None,
        touches: Sequence[str] | None = None, *, level: Any = "project", arrives: bool = True,
        caller: Caller | None = None,
    ) -> Reply:  # fmt: skip
        lists = [None if each is None else tuple(each) for each in (notes, touches)]
        return self.call(PutNode(sid, level, node_id, gist, *lists), arrives=arrives, caller=caller)

    def edge(
        self, sid: str, source: str, rel: str, target: str, notes: Sequence[str] | None = None, *,
        level: Any = "project", arrives: bool = True,
    ) -> Reply:  # fmt: skip
        command = PutEdge(sid, level, source, target, rel, None if notes is None else tuple(notes))
        return self.call(command, arrives=arrives)

    def rename(self, sid: str, old: str, new: str, *, level: Any = None) -> Reply:
        return self.call(RenameNode(sid, old, new, level))

    def delete(self, sid: str, node_id: str, *, level: Any = None, arrives: bool = True) -> Reply:
        return self.call(DeleteNode(sid, node_id, level), arrives=arrives)

    def delete_edge(self, sid: str, source: str, rel: str, target: str, *, level: Any = None) -> Reply:
        return self.call(DeleteEdge(sid, source, target, rel, level))

    def useful(self, sid: str, *ids: str, **more: Any) -> Reply:
        return self.call(Useful(sid, ids, **more))

    def sync(self, sid: str, *, arrives: bool = True) -> Reply:
        return self.call(Sync(sid), arrives=arrives)

    def progress(self, sid: str, task: str, state: Any = None, **more: Any) -> Reply:
        return self.call(Progress(sid, task, state, **more))

    def start(
        self, source: str, client: str, *, place: Place | None = APP, harness: str = "claude", **more: Any
    ) -> Reply:
        """A SessionStart hook."""
        arrives = more.pop("arrives", True)
        caller = Caller("hook", harness, client, acknowledges=True)
        return self.call(SessionStarted(source, place, **more), caller=caller, arrives=arrives)

    def prompt(
        self, text: str, client: str, *, place: Place | None = APP, harness: str = "claude", **more: Any
    ) -> Reply:
        """A UserPromptSubmit hook."""
        arrives = more.pop("arrives", True)
        caller = Caller("hook", harness, client, acknowledges=True)
        return self.call(PromptSubmitted(text, place, **more), caller=caller, arrives=arrives)

    # --- looking ---------------------------------------------------------------------------------------------

    def graph(self, level: str = "project", slug: str = "app") -> Graph:
        return self.world.graph(f"projects/{slug}" if level == "project" else level)

    def node(self, node_id: str, level: str = "project", slug: str = "app") -> Node:
        return self.graph(level, slug).nodes[node_id]

    def session(self, sid: str) -> Session:
        return self.world.sessions[sid]

    def set_node(self, node_id: str, level: str = "project", **fields: Any) -> None:
        """Change fields the way a person does, by an event of the writer `file`."""
        old = self.node(node_id, level)
        was = {name: getattr(old, name) for name in fields}
        self.emit_all(
            [{"kind": "node_put", "graph": self.graph(level).key, "id": node_id, "set": fields, "was": was}], by="file"
        )


def file_of(world: World, part: str) -> bytes:
    """The bytes of a part's file."""
    if part == TABLE:
        return table_bytes(table_document(world, clean_seq=0))
    graph = world.graph(part)
    nodes = [graph.nodes[node_id] for node_id in sorted(graph.nodes)]
    edges = [graph.edges[key] for key in sorted(graph.edges)]
    return b"".join(graph_pieces(graph_meta(graph), nodes, edges))


def loaded(world: World, saved: dict[str, bytes], log: Sequence[bytes]) -> World:
    """Fill a new world from files and the log, each part with the events that it lacks."""
    if TABLE in saved:
        load_table(world, from_json(saved[TABLE]))
    for key in sorted(saved.keys() - {TABLE}, key=lambda key: key.startswith("projects/")):
        document = parse_graph(saved[key])
        graph = world.graph(key)
        graph.seq, graph.root = document.seq, document.root
        graph.progress, graph.extra = dict(document.progress), document.extra
        for node in document.nodes.values():
            graph.put_node(node)
        for edge in document.edges.values():
            graph.put_edge(edge)
    for line in log:
        apply(world, event_from_line(line))
    return world


def state_of(world: World) -> dict[str, Any]:
    """Everything that a restart must bring back, in a form that compares and prints well."""
    graphs = {
        key: {
            "nodes": dict(sorted(graph.nodes.items())),
            "edges": {key: replace(edge) for key, edge in sorted(graph.edges.items())},
            "progress": graph.progress, "root": graph.root, "seq": graph.seq, "size": graph.size,
            "counts": dict(graph.counts), "charges": dict(sorted(graph.charges.items())),
            "ends": {end: sorted(keys) for end, keys in sorted(graph.ends.items())},
            "changes": list(graph.changes),
        }
        for key, graph in sorted(world.graphs.items())
    }  # fmt: skip
    return {
        "graphs": graphs, "table": table_document(world, clean_seq=0), "roots": dict(world.roots),
        "clients": dict(world.clients), "seq": world.seq,
    }  # fmt: skip


def edges_of(graph: Graph) -> set[tuple[str, str, str]]:
    return set(graph.edges)


__all__ = ["APP", "OTHER", "Edge", "Peer", "Reply", "edges_of", "file_of", "loaded", "state_of"]
