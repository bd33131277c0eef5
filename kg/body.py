"""The body of one level as a structure: which lines it has, in which order, and what was left out to fit.

`section_of` builds it from a graph; `kg.ladder` takes items out; `written` turns it into text. A level that nothing was
taken from is written exactly as `Graph.size` charges it.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kg import lines
from kg.delivery import Effect, Text
from kg.graph import Edge, Graph, Node

MORE_ARCHIVED = "  (+{} more archived; kg_search finds them)"
MORE_EDGES = "  (+{} edges not shown)"
MORE_ACTIVE = "  (+{} more active; kg_read shows them)"


@dataclass(frozen=True, slots=True)
class Citation:
    """An edge as it is cited under one of its ends."""

    edge: Edge
    line: str
    order: tuple[bool, str, str]


@dataclass(slots=True)
class Section:
    """One level: nodes in reading order, their citations, anchors in any order, and counts of what was left out."""

    graph: Graph
    nodes: dict[str, Node]
    citations: dict[str, list[Citation]]
    anchors: list[str]
    edges_out: int = 0
    anchors_out: int = 0
    nodes_out: int = 0
    bare: frozenset[str] = field(default_factory=frozenset)

    def node_line(self, node: Node) -> str:
        """A node with its gist, or its id alone where this context has the gist already."""
        return lines.preloaded_line(node) if node.id in self.bare else lines.node_line(node)


def section_of(graph: Graph, *, bare: frozenset[str] = frozenset()) -> Section:
    """The whole body of a level. `bare`: ids whose gist this context has from the preload."""
    nodes = {node.id: node for node in reading_order(graph)}
    citations = {node_id: citations_under(graph, node_id) for node_id in nodes}
    return Section(graph, nodes, citations, list(graph.tiers["archived"]), bare=bare & nodes.keys())


def written(section: Section, *, via: str) -> Text:
    """The section as lines; each gist is seen with its line, by the route `via` (preload or full_read)."""
    text = Text()
    if section.nodes:
        text.add(lines.ACTIVE_HEADER)
    for node in section.nodes.values():
        text.add(section.node_line(node), *_effects(section, node, via))
        for citation in section.citations[node.id]:
            text.add(citation.line)
    for line in (_more(MORE_ACTIVE, section.nodes_out), _more(MORE_EDGES, section.edges_out)):
        if line:
            text.add(line)
    if section.anchors:
        text.add(lines.ARCHIVED_HEADER)
    for node_id in sorted(section.anchors):
        text.add(lines.anchor(node_id))
    if section.anchors_out:
        text.add(_more(MORE_ARCHIVED, section.anchors_out))
    return text


def _effects(section: Section, node: Node, via: str) -> list[Effect]:
    if node.id in section.bare:
        return []
    key = (section.graph.key, node.id)
    seen: Effect = ["seen", *key, node.content_seq, via]
    return [seen, ["preloaded", *key]] if via == "preload" else [seen]


def _more(form: str, count: int) -> str:
    return form.format(count) if count else ""


def count_lines(section: Section) -> list[str]:
    """The lines that say how much was left out."""
    rows = (
        (MORE_ACTIVE, section.nodes_out), (MORE_EDGES, section.edges_out), (MORE_ARCHIVED, section.anchors_out),
    )  # fmt: skip
    return [form.format(count) for form, count in rows if count]


def reading_order(graph: Graph) -> list[Node]:
    """Active nodes cluster by cluster, the hub of each first; the same for any order of the input."""
    adjacent: dict[str, set[str]] = {node_id: set() for node_id in graph.tiers["active"]}
    degree = dict.fromkeys(adjacent, 0)
    for source, _, target in graph.charges:
        for end in {source, target}:
            if end in degree:
                degree[end] += 1
        if source in adjacent and target in adjacent and source != target:
            adjacent[source].add(target)
            adjacent[target].add(source)

    def rank(node_id: str) -> tuple[int, str]:
        return (-degree[node_id], node_id)

    left = set(adjacent)
    starts = (node_id for node_id in sorted(adjacent, key=rank) if node_id in left)
    clusters = [_breadth_first(start, adjacent, rank, left) for start in starts]
    clusters.sort(key=lambda cluster: (-len(cluster), *rank(cluster[0])))
    return [graph.nodes[node_id] for cluster in clusters for node_id in cluster]


def _breadth_first(
    start: str, adjacent: Mapping[str, set[str]], rank: Callable[[str], tuple[int, str]], left: set[str]
) -> list[str]:
    order, queue = [], deque([start])
    left.discard(start)
    while queue:
        here = queue.popleft()
        order.append(here)
        for neighbour in sorted(adjacent[here] & left, key=rank):
            left.discard(neighbour)
            queue.append(neighbour)
    return order


def citations_under(graph: Graph, node_id: str) -> list[Citation]:
    """The edges that are cited under an active node: outgoing first, then by rel, then by the other end."""
    found = []
    for edge in graph.edges_of(node_id):
        if graph.cited_under(edge) == node_id:
            outgoing = edge.source == node_id
            other = edge.target if outgoing else edge.source
            found.append(Citation(edge, lines.citation(edge, outgoing=outgoing), (not outgoing, edge.rel, other)))
    return sorted(found, key=lambda citation: citation.order)
