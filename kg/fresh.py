"""The fresh tier: the newest nodes of a level, which need not compete yet (spec/compaction.md section 3).

Creation counts, never an update. Each node is charged with its line and with the citations that it brings in, as they
cost when both ends are active: so whether a node is fresh depends on what is orphaned, but never on what is archived,
and compaction cannot change its own premises by archiving.
"""

from collections.abc import Iterator, Sequence

from kg import lines
from kg.graph import Edge, Graph
from kg.job import JobNode
from kg.sizes import HIDING, OUTSIDE, Table, cost_of


def newest_first(nodes: Sequence[JobNode]) -> list[int]:
    """The numbers of all nodes, newest first."""
    order = [(node.created_seq, node.created, node.id, number) for number, node in enumerate(nodes)]
    return [number for *_, number in sorted(order, reverse=True)]


def fresh_numbers(table: Table, newest: Sequence[int], *, room: int) -> list[int]:
    """The fresh nodes of a level that is planned, newest first.

    Args:
        table: the level.
        newest: all its nodes, newest first.
        room: characters of the tier.
    """
    taken: dict[int, None] = {}
    for number in newest:
        if table.tiers[number] == "orphaned":
            continue
        room -= table.shown[number]
        for link in table.links[number]:
            other = link[0]
            if table.tiers[other] != "orphaned" and other not in taken:
                room -= cost_of(link, "active", "outside" if other == OUTSIDE else "active")
        if room < 0:
            break
        taken[number] = None
    return list(taken)


def fresh_ids(graph: Graph, *, room: int) -> frozenset[str]:
    """The fresh nodes of a graph as it is; looks at no more nodes than that, since the owner asks on its loop."""
    taken: set[str] = set()
    for node in graph.newest_first():
        if node.tier == "orphaned":
            continue
        room -= lines.charge(lines.node_line(node)) + sum(_brought(graph, node.id, taken))
        if room < 0:
            break
        taken.add(node.id)
    return frozenset(taken)


def _brought(graph: Graph, node_id: str, taken: set[str]) -> Iterator[int]:
    """Costs of the citations that a node brings in."""
    for edge in graph.edges_of(node_id):
        other = edge.target if edge.source == node_id else edge.source
        if other in taken or _state(graph, other) in HIDING:
            continue
        yield _cost_when_active(graph, edge)


def _state(graph: Graph, end: str) -> str:
    node = graph.nodes.get(end)
    return node.tier if node is not None else "outside" if graph.is_anything(end) else "missing"


def _cost_when_active(graph: Graph, edge: Edge) -> int:
    return lines.charge(lines.citation(edge, outgoing=edge.source in graph.nodes))
