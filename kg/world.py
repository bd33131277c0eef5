"""The whole state of a storage folder, as one owner holds it in memory.

`World` is what `decide` reads and `apply` changes. It is made of parts that are saved apart: one per graph, and the
*table* (sessions, projects, files, requests), saved as sessions.json. Each part knows the `seq` that it holds, so an
event is applied to exactly the parts that lack it: that makes replay after a crash the same function as normal work.

`outbox` is the exception: deliveries under way live in memory only.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from kg.delivery import Outbox, Parts
from kg.graph import Graph
from kg.sessions import Session


@dataclass(frozen=True, slots=True)
class Project:
    """A registered project root (spec/storage.md section 11)."""

    slug: str
    root: str
    first_commit: str | None = None
    former_roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What kg last wrote to a graph's file."""

    sha256: str
    seq: int


@dataclass(slots=True)
class World:
    """State of one storage folder."""

    outbox: Outbox
    seq: int = 0
    graphs: dict[str, Graph] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)  # graph key -> cause
    table_seq: int = 0
    sessions: dict[str, Session] = field(default_factory=dict)
    clients: dict[tuple[str, str], str] = field(default_factory=dict)  # (harness, client id) -> session id
    projects: dict[str, Project] = field(default_factory=dict)  # slug -> project
    roots: dict[str, str] = field(default_factory=dict)  # root -> slug
    files: dict[str, Checkpoint] = field(default_factory=dict)
    requests: OrderedDict[str, int] = field(default_factory=OrderedDict)  # idempotency key -> seq of its event
    pending: dict[str, Parts] = field(default_factory=dict)  # session id -> parts still to be read

    def graph(self, key: str) -> Graph:
        """The graph with this key, made empty when nobody ever wrote it."""
        graph = self.graphs.get(key)
        if graph is None:
            upper = self.graph("user") if key.startswith("projects/") else None
            slug = key.removeprefix("projects/")
            project = self.projects.get(slug) if upper is not None else None
            graph = self.graphs[key] = Graph(key, root=project.root if project else None, upper=upper)
        return graph

    def project_graphs(self) -> Iterator[Graph]:
        """Every project graph of the folder, in use or not."""
        return (graph for key, graph in self.graphs.items() if graph.upper is not None)

    def resolve(self, graph_key: str, end: str) -> tuple[str, str] | None:
        """The node that an endpoint of this graph's edges means: own graph first, then the user's."""
        graph = self.graph(graph_key)
        if end in graph.nodes:
            return (graph_key, end)
        if graph.upper is not None and end in graph.upper.nodes:
            return ("user", end)
        return None
