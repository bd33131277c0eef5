"""The job of a plan: what compaction needs to know of a graph, and its bytes.

No text travels but ids, rels and times: a node comes with what its line costs. The owner writes a job in slices, from
values that it took hold of at once, so the graph may change between two slices without a trace in the job. The bytes
are lines of JSON: a header, then lists of rows. Reading sorts them, so a plan never depends on their order.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from kg import lines
from kg.codec import from_json, packed_json
from kg.graph import TIERS, Edge, Graph, Node, Tier
from kg.limits import JOB_SLICE, LEVEL_BUDGET_CHARS
from kg.names import is_file

Row = Mapping[str, Any] | list[Any]
Outside = Literal["", "source", "target", "both"]


@dataclass(frozen=True, slots=True)
class JobNode:
    """What a plan knows of a node. `charge` is the cost of its line when it is active; times as in `Node`."""

    id: str
    tier: Tier
    charge: int
    created_seq: int = 0
    created: str = ""
    content_seq: int = 0
    used: str | None = None
    read: str | None = None
    useful: tuple[str, ...] = ()
    orphaned: str | None = None
    locked: bool = False


@dataclass(frozen=True, slots=True)
class JobEdge:
    """What a plan knows of an edge. `outside` says which ends are files or nodes of the graph above.

    An end that is neither this nor a node of the job names nothing.
    """

    source: str
    rel: str
    target: str
    outside: Outside = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A graph as a plan sees it.

    Attributes:
        graph: its key.
        base_seq: its seq when the job was taken.
        now: the time of the whole run.
        grace_days: after how many days orphans are deleted; None: not in this run.
        budget: of the level, in characters.
        nodes: in id order.
        edges: in key order.
    """

    graph: str
    base_seq: int
    now: str
    grace_days: int | None
    budget: int
    nodes: tuple[JobNode, ...]
    edges: tuple[JobEdge, ...]


def job_rows(graph: Graph, *, now: str, prune: int | None, budget: int = LEVEL_BUDGET_CHARS) -> Iterator[Row]:
    """The rows of a job, header first, made one by one from the graph as it is at the first of them.

    Args:
        graph: what is to be planned.
        now: frozen for the run.
        prune: days after which orphans are deleted; None: not in this run; 0 or below: never.
        budget: of the level, in characters.
    """
    nodes, edges = list(graph.nodes.values()), list(graph.edges.values())
    own = frozenset(graph.nodes)
    above = frozenset(graph.upper.nodes) if graph.upper is not None else frozenset()
    yield {"graph": graph.key, "base_seq": graph.seq, "now": now, "grace_days": prune, "budget": budget}
    for node in nodes:
        yield _node_row(node)
    for edge in edges:
        yield _edge_row(edge, own, above)


def job_pieces(rows: Iterable[Row]) -> Iterator[bytes]:
    """The bytes of a job, a slice of its rows at a time."""
    source = iter(rows)
    yield packed_json(next(source)) + b"\n"
    while part := list(islice(source, JOB_SLICE)):
        yield packed_json(part) + b"\n"


def encode_job(rows: Iterable[Row]) -> bytes:
    """The bytes of a job at once."""
    return b"".join(job_pieces(rows))


def decode_job(data: bytes) -> Job:
    """Read a job.

    Raises:
        ValueError: not what `job_pieces` writes.
    """
    head, *parts = data.splitlines()
    header = from_json(head)
    nodes: list[JobNode] = []
    edges: list[JobEdge] = []
    for part in parts:
        for row in from_json(part):
            if row[0] == "edge":
                edges.append(JobEdge(*row[1:]))
            else:
                node_id, tier, charge, created_seq, created, content_seq, used, read, useful, orphaned, locked = row[1:]
                if tier not in TIERS:
                    raise ValueError(f"{node_id}: {tier!r} is no tier")
                nodes.append(
                    JobNode(
                        node_id, tier, charge, created_seq, created, content_seq, used, read, tuple(useful), orphaned,
                        locked,
                    )
                )  # fmt: skip
    return job_of(nodes, edges, **header)


def job_of(nodes: Iterable[JobNode], edges: Iterable[JobEdge], **header: Any) -> Job:  # noqa: ANN401 - fields of Job
    """A job with its rows in order.

    Raises:
        ValueError: a node or an edge stands twice.
    """
    found, named = list(nodes), list(edges)
    by_id = {node.id: node for node in found}
    by_key = {(edge.source, edge.rel, edge.target): edge for edge in named}
    if len(by_id) != len(found) or len(by_key) != len(named):
        raise ValueError("a node or an edge stands twice in the job")
    in_order = tuple(by_id[node_id] for node_id in sorted(by_id))
    return Job(nodes=in_order, edges=tuple(by_key[key] for key in sorted(by_key)), **header)


def _node_row(node: Node) -> Row:
    return [
        "node", node.id, node.tier, lines.charge(lines.node_line(node)), node.created_seq, node.created,
        node.content_seq, node.used, node.read, node.useful, node.orphaned, node.locked,
    ]  # fmt: skip


def _edge_row(edge: Edge, own: frozenset[str], above: frozenset[str]) -> Row:
    source, target = (end not in own and (end in above or is_file(end)) for end in (edge.source, edge.target))
    outside: Outside = "both" if source and target else "source" if source else "target" if target else ""
    return ["edge", edge.source, edge.rel, edge.target, outside]
