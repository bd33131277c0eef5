"""One graph: nodes, edges, and the size of its visible body, kept up to date with every change.

`Node` and `Edge` are frozen values, so a snapshot is a shallow copy. `Graph` is the mutable table that `apply` changes
and nobody else. It keeps six things beside the values:

- `ends`: for each endpoint text, the edges that name it, so that renames, deletes and citations cost O(degree);
- `charges`: what each shown edge costs, and `size`, the characters of the level's body (spec/rendering.md section 1).
  Both come from `kg.lines`, the one place that makes a line, so the size is the rendering and not an estimate;
- `scores`: what the last plan found each scored node to be worth, for the order in which things are left out;
- `index` and `unindexed`: the words of the nodes, and which nodes changed since (see `kg.search`);
- `tiers`: the ids of each tier, so that what is in view is found without a walk over what is not;
- `changes`: the last content changes, oldest first, which kg_sync and news read (a cache of the log).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from operator import attrgetter
from typing import Literal

from kg import lines
from kg.index import TokenIndex
from kg.limits import AGES_SPARE, CHANGES_KEPT
from kg.names import is_file

Tier = Literal["active", "archived", "orphaned"]
TIERS: tuple[Tier, ...] = ("active", "archived", "orphaned")
EdgeKey = tuple[str, str, str]
EMPTY: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Node:
    """One lesson. Times are ISO 8601 UTC strings; seqs order things (spec/storage.md section 2)."""

    id: str
    gist: str
    notes: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    tier: Tier = "active"
    created: str = ""
    created_seq: int = 0
    content_seq: int = 0
    by: str = ""
    author: str | None = None
    used: str | None = None
    read: str | None = None
    useful: tuple[str, ...] = ()
    credited: tuple[str, ...] = ()
    recurrences: tuple[int, ...] = ()
    gist_changes: tuple[str, ...] = ()
    orphaned: str | None = None
    locked: bool = False
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def writer(self) -> str:
        """Who counts as its author: a maintenance write does not take authorship."""
        return self.author or self.by

    def altered(self, fields: Mapping[str, object]) -> "Node":
        """A copy with other values of these fields; as dataclasses.replace, in a third of its time."""
        values = list(_NODE_VALUES(self))
        for name, value in fields.items():
            values[_NODE_PLACES[name]] = value
        return Node(*values)


_NODE_PLACES = {each.name: place for place, each in enumerate(dataclass_fields(Node))}
_NODE_VALUES = attrgetter(*_NODE_PLACES)


@dataclass(frozen=True, slots=True)
class Edge:
    """A named arrow; `source` and `target` are ids or files as written."""

    source: str
    rel: str
    target: str
    notes: tuple[str, ...] = ()
    seq: int = 0
    by: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def key(self) -> EdgeKey:
        """What makes it one edge of its graph."""
        return (self.source, self.rel, self.target)


@dataclass(frozen=True, slots=True)
class Change:
    """A content change as news and kg_sync tell it.

    `kind` is put, deleted, renamed, edge_put, edge_deleted, or rewired (a rename in the graph above moved edges of
    this one).
    """

    seq: int
    ts: str
    by: str
    project: str | None
    kind: str
    id: str
    other: EdgeKey | str | None = None
    new: bool = False


class Graph:
    """The nodes and edges of one level."""

    __slots__ = (
        "_ages", "_before_run", "_lines", "_sorted", "anchors", "changes", "changes_from", "charges", "edges", "ends",
        "extra", "index", "key", "last_put", "nodes", "progress", "root", "scores", "seq", "tiers", "unindexed",
        "upper",
    )  # fmt: skip

    def __init__(self, key: str, *, root: str | None = None, upper: "Graph | None" = None) -> None:
        self.key = key
        self.root = root
        self.upper = upper
        self.seq = 0
        self.nodes: dict[str, Node] = {}
        self.edges: dict[EdgeKey, Edge] = {}
        self.ends: dict[str, dict[EdgeKey, None]] = {}
        self.charges: dict[EdgeKey, int] = {}
        self.tiers: dict[Tier, dict[str, None]] = {tier: {} for tier in TIERS}
        self.progress: dict[str, Mapping[str, object]] = {}
        self.extra: Mapping[str, object] = EMPTY
        self.changes: list[Change] = []
        self.changes_from = 0
        self.last_put: dict[str, Change] = {}
        self.scores: Mapping[str, float] = {}
        self.index = TokenIndex()
        self.unindexed: set[str] = set()
        self._lines = 0
        self.anchors = 0  # characters of the lines of archived ids
        self._ages: list[_Age] = []
        self._sorted = True
        self._before_run = 0  # seq of the last change before the newest writer's run of changes

    @property
    def level(self) -> str:
        """user, project or maintain."""
        return "project" if self.key.startswith("projects/") else self.key

    @property
    def slug(self) -> str | None:
        """Name of the project, None for user and maintain."""
        return self.key.removeprefix("projects/") if self.level == "project" else None

    @property
    def counts(self) -> dict[Tier, int]:
        """How many nodes each tier holds."""
        return {tier: len(held) for tier, held in self.tiers.items()}

    @property
    def size(self) -> int:
        """Characters of the body when every active gist is shown (spec/rendering.md section 2)."""
        headers = lines.charge(lines.ACTIVE_HEADER) if self.tiers["active"] else 0
        if self.tiers["archived"]:
            headers += lines.charge(lines.ARCHIVED_HEADER)
        return self._lines + headers

    # --- nodes -----------------------------------------------------------------------------------------------

    def put_node(self, node: Node) -> None:
        """Store a node under its id, new or in place of what was there."""
        old = self.nodes.get(node.id)
        self.nodes[node.id] = node
        self.unindexed.add(node.id)
        if old is None or _age(old) != _age(node):
            self._sorted &= not self._ages or self._ages[-1] < _age(node)
            self._ages.append(_age(node))
        self._lines += _line_charge(node) - (_line_charge(old) if old else 0)
        if old is None or old.tier != node.tier:
            self.anchors += _anchor_charge(node) - (_anchor_charge(old) if old else 0)
            if old is not None:
                del self.tiers[old.tier][node.id]
            self.tiers[node.tier][node.id] = None
            self.recharge(node.id)

    def change_node(self, node_id: str, **fields: object) -> None:
        """Replace single fields of a node that exists."""
        self.put_node(self.nodes[node_id].altered(fields))

    def remove_node(self, node_id: str) -> Node:
        """Take a node out; its edges stay."""
        node = self.nodes.pop(node_id)
        self.unindexed.add(node_id)
        self._lines -= _line_charge(node)
        self.anchors -= _anchor_charge(node)
        del self.tiers[node.tier][node_id]
        self.recharge(node_id)
        return node

    def newest_first(self) -> Iterator[Node]:
        """Every node by its creation, the newest first.

        The list is sorted when it is asked for and only if a node came out of turn (after loading, a rename); entries
        of nodes that went are passed over.
        """
        if not self._sorted or len(self._ages) > 2 * len(self.nodes) + AGES_SPARE:
            self._ages = sorted(map(_age, self.nodes.values()))
            self._sorted = True
        for age in reversed(self._ages):
            node = self.nodes.get(age[2])
            if node is not None and _age(node) == age:
                yield node

    # --- edges -----------------------------------------------------------------------------------------------

    def put_edge(self, edge: Edge) -> None:
        """Store an edge under its key."""
        key = edge.key
        self.edges[key] = edge
        for end in (edge.source, edge.target):
            self.ends.setdefault(end, {})[key] = None
        self._recharge_edge(key)

    def remove_edge(self, key: EdgeKey) -> Edge:
        """Take an edge out."""
        edge = self.edges.pop(key)
        for end in {edge.source, edge.target}:
            held = self.ends[end]
            del held[key]
            if not held:
                del self.ends[end]
        self._lines -= self.charges.pop(key, 0)
        return edge

    def edges_of(self, end: str) -> Iterator[Edge]:
        """Every edge that names this endpoint."""
        return (self.edges[key] for key in self.ends.get(end, ()))

    def cited_under(self, edge: Edge) -> str | None:
        """Id of the node whose paragraph cites this edge, None when it is not shown.

        An edge is shown when an end is an active node of this graph and no end is orphaned or missing; it stands
        under its source if that one is active (spec/rendering.md section 2).
        """
        states = [self._state(end) for end in (edge.source, edge.target)]
        if "orphaned" in states or "missing" in states or "active" not in states:
            return None
        return edge.source if states[0] == "active" else edge.target

    def is_anything(self, end: str) -> bool:
        """Whether an endpoint resolves: a file, a node of this graph or of the graph above."""
        return self._state(end) != "missing"

    def recharge(self, end: str) -> None:
        """Count the citations of an endpoint anew, after its node came, went or moved."""
        for key in self.ends.get(end, ()):
            self._recharge_edge(key)

    # --- news ------------------------------------------------------------------------------------------------

    def record(self, change: Change) -> None:
        """Remember a content change for kg_sync and news."""
        if self.changes and self.changes[-1].by != change.by:
            self._before_run = self.changes[-1].seq
        self.changes.append(change)
        if change.kind == "put":
            self.last_put[change.id] = change
        elif change.kind == "renamed" and change.id in self.last_put:
            self.last_put[str(change.other)] = self.last_put.pop(change.id)
        if len(self.changes) > 2 * CHANGES_KEPT:
            self.changes_from = self.changes[-CHANGES_KEPT - 1].seq
            del self.changes[:-CHANGES_KEPT]

    def foreign_seq(self, writer: str) -> int:
        """Seq of the newest change by anybody but this writer, or later: 0 when there is none.

        A writer that is alone with a graph is told so without a look at its own changes.
        """
        if not self.changes:
            return 0
        return self._before_run if self.changes[-1].by == writer else self.changes[-1].seq

    # --- inside ----------------------------------------------------------------------------------------------

    def _state(self, end: str) -> str:
        node = self.nodes.get(end)
        if node is not None:
            return node.tier
        if is_file(end) or (self.upper is not None and end in self.upper.nodes):
            return "outside"
        return "missing"

    def _recharge_edge(self, key: EdgeKey) -> None:
        edge = self.edges[key]
        under = self.cited_under(edge)
        charge = lines.charge(lines.citation(edge, outgoing=under == edge.source)) if under is not None else 0
        self._lines += charge - self.charges.get(key, 0)
        if charge:
            self.charges[key] = charge
        else:
            self.charges.pop(key, None)


_Age = tuple[int, str, str]


def _age(node: Node) -> _Age:
    """What orders nodes by their creation."""
    return (node.created_seq, node.created, node.id)


def _line_charge(node: Node) -> int:
    return lines.charge(lines.node_line(node)) if node.tier == "active" else _anchor_charge(node)


def _anchor_charge(node: Node) -> int:
    return lines.charge(lines.anchor(node.id)) if node.tier == "archived" else 0


def graph_of(
    key: str, nodes: Iterable[Node], edges: Iterable[Edge], *, root: str | None = None, upper: Graph | None = None
) -> Graph:
    """Build a graph from values."""
    graph = Graph(key, root=root, upper=upper)
    for node in nodes:
        graph.put_node(node)
    for edge in edges:
        graph.put_edge(edge)
    return graph
