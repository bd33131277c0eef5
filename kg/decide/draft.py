"""A decision under construction: the events it proposes and the text it answers.

`Draft` is what the handlers of one command share. It numbers events as the log will, since nothing can come between
`decide` and `apply`; so a reply can name the seq of its own change.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from kg.commands import Caller
from kg.delivery import Effect, PartNumber, Text
from kg.errors import refuse
from kg.events import Event
from kg.graph import Graph, Node
from kg.limits import CLIENT_ID_CHARS, SESSION_QUOTE_CHARS
from kg.names import clean_session_id
from kg.sessions import Session
from kg.text import quoted
from kg.world import World

# What must not happen twice when a call is sent again; a read is simply answered anew.
WRITES = frozenset(
    {"node_put", "node_renamed", "node_deleted", "edge_put", "edge_deleted", "progress_put", "node_voted"}
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one command.

    Attributes:
        events: to be applied and made durable, in order, before the reply leaves.
        text: the reply; one part of it if it was cut.
        effects: hold when that text has arrived.
        session: whose delivery it is, None when there is none.
        code: the refusal's code, None for a success.
        part: which part of which long reply this is; None when the reply is whole.
        notice: a line for the person at the screen (hooks).
        logs: lines for the logs of storage.md section 13, as (log, record).
    """

    events: tuple[Event, ...]
    text: str
    effects: tuple[Effect, ...] = ()
    session: str | None = None
    code: str | None = None
    part: PartNumber | None = None
    notice: str | None = None
    logs: tuple[tuple[str, dict[str, Any]], ...] = ()


@dataclass(slots=True)
class Draft:
    """Shared by the handlers of one command. `now` is an ISO time, `fresh` an unused session id."""

    world: World
    caller: Caller
    now: str
    fresh: str
    session: Session | None = None
    events: list[Event] = field(default_factory=list)
    text: Text = field(default_factory=Text)
    notice: str | None = None
    part: PartNumber | None = None
    code: str | None = None
    logs: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def next_seq(self) -> int:
        """The seq that the next emitted event gets."""
        return self.world.seq + len(self.events) + 1

    def emit(self, kind: str, **body: Any) -> int:  # noqa: ANN401 - JSON values, see kg.events
        """Propose an event by this command's session and give its seq."""
        session = self.session
        by = session.writer if session else "kg"
        project = session.project if session else None
        if self.caller.request_key and kind in WRITES and all(each.kind not in WRITES for each in self.events):
            body["request"] = self.caller.request_key
        event = Event(self.next_seq, self.now, kind, by, project, body)
        self.events.append(event)
        return event.seq

    def mark_maintenance(self, session: Session) -> Session:
        """From here on this session tends the graph; what the same call writes counts as its writing already."""
        self.emit("session_marked", session=session.id)
        self.session = replace(session, maintenance=True)
        return self.session

    @property
    def client_id(self) -> str | None:
        """The client's conversation, None when its id is none that can be kept."""
        client = self.caller.client_id
        usable = client is not None and 0 < len(client) <= CLIENT_ID_CHARS and client.isprintable()
        return client if usable else None

    # --- looking things up -----------------------------------------------------------------------------------

    def require_session(self, raw: str) -> Session:
        """The live session with this id; it becomes the draft's."""
        session_id = clean_session_id(raw)
        session = self.world.sessions.get(session_id) if session_id else None
        if session is None:
            raise refuse("unknown-session", f'"{quoted(raw, SESSION_QUOTE_CHARS)}" is no session of kg')
        self.session = session
        return session

    def graph_of(self, session: Session, level: str) -> Graph:
        """The graph that a level means, which must be readable."""
        key = session.graph_key(level)
        if key is None:
            raise refuse("no-project", "this session has no project, so there is no project level")
        return self.readable(key)

    def readable(self, key: str) -> Graph:
        """The graph with this key, unless its file could not be read."""
        if key in self.world.unreadable:
            raise refuse("unreadable-graph", f"the graph {key} cannot be read: {self.world.unreadable[key]}")
        return self.world.graph(key)

    def find(self, session: Session, node_id: str, level: str | None) -> tuple[Graph, Node] | None:
        """A node by id: in the level's graph, or project first, then user."""
        keys = (self.graph_of(session, level).key,) if level else session.search_order()
        for key in keys:
            graph = self.readable(key)
            if (node := graph.nodes.get(node_id)) is not None:
                return graph, node
        return None

    def say_whose(self) -> None:
        """Tell a conversation that uses another one's session which is its own: a resumed agent may hold an old id."""
        session, caller = self.session, self.caller
        if session is None or session.client_id in {None, caller.client_id} or session.harness != caller.harness:
            return
        own = self.world.clients.get((caller.harness, self.client_id or ""))
        if own is not None and own != session.id and own in self.world.sessions:
            self.say(f"Note: session {session.id} belongs to another conversation; yours is {own}.")

    def say(self, line: str, *effects: Effect) -> None:
        """One more line of the reply."""
        self.text.add(line, *effects)


__all__ = ["Decision", "Draft"]
