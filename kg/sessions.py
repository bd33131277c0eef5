"""Session records: who is asking, and what they have been shown (spec/sessions.md section 1).

A *view* is a pair of sequence numbers: `seen_seq`, the state from which the gist was rendered, and `read_seq`, the
state from which gist, notes and touches were rendered in full. The write guard compares them with `content_seq`; no
clock is involved. `context` is the number of the client's context window in which the gist was last shown: after a
compaction the view still counts for the guard, but the gist is no longer in front of the model.
"""

from dataclasses import dataclass, field
from typing import Literal

from kg.graph import EdgeKey

Scope = Literal["project", "user"]
NodeKey = tuple[str, str]  # graph key, node id


@dataclass(frozen=True, slots=True)
class View:
    """What a session has been shown of a node; None = never."""

    seen_seq: int | None = None
    read_seq: int | None = None
    via: str = "unknown"
    context: int = -1

    def seen(self, seq: int, via: str, context: int) -> "View":
        """The gist as of `seq` was delivered into this context; views never move back."""
        first = self.via if self.via != "unknown" else via
        return View(max(self.seen_seq or 0, seq), self.read_seq, first, max(self.context, context))

    def read_whole(self, seq: int, via: str, context: int) -> "View":
        """The node was delivered in full as of `seq`."""
        first = self.via if self.via != "unknown" else via
        return View(max(self.seen_seq or 0, seq), max(self.read_seq or 0, seq), first, max(self.context, context))


NO_VIEW = View()


@dataclass(slots=True)
class Session:
    """One agent's session; changed by `apply` only. Times are ISO strings, *_seq are sequence numbers."""

    id: str
    started: str
    active: str
    start_seq: int
    harness: str = "other"
    client_id: str | None = None
    project: str | None = None
    scope: Scope = "user"
    maintenance: bool = False
    ops: int = 0
    sync_seq: int = 0
    news_seq: int = 0
    full_read_seq: int | None = None
    contexts: int = 0
    preloads: int = 0
    views: dict[NodeKey, View] = field(default_factory=dict)
    edge_views: dict[tuple[str, EdgeKey], int] = field(default_factory=dict)
    preloaded: set[NodeKey] = field(default_factory=set)
    promoted: set[NodeKey] = field(default_factory=set)
    votes: dict[NodeKey, int] = field(default_factory=dict)
    credits: int = 0
    forked_from: str | None = None

    @property
    def writer(self) -> str:
        """The name under which this session's writes stand in the log."""
        return f"maint:{self.id}" if self.maintenance else self.id

    @property
    def usable(self) -> bool:
        """Whether kg_read may go on with this session without a cwd."""
        return self.project is not None or self.scope == "user"

    def view(self, key: NodeKey) -> View:
        """The view of a node, empty when it was never shown."""
        return self.views.get(key, NO_VIEW)

    def in_context(self, key: NodeKey) -> bool:
        """Whether the gist was shown in the present context window."""
        return self.view(key).context == self.contexts

    def graph_key(self, level: str) -> str | None:
        """Key of the graph that a level means for this session; None: project level without project."""
        if level != "project":
            return level
        return f"projects/{self.project}" if self.project else None

    def search_order(self) -> tuple[str, ...]:
        """Graphs in which a bare id is looked up: the project's, then the user's."""
        own = self.graph_key("project")
        return (own, "user") if own else ("user",)


def writer_session(writer: str) -> str:
    """The session id behind a writer's name (`maint:` cut)."""
    return writer.removeprefix("maint:")
