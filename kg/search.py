"""Finding nodes by whole tokens: an inverted index per graph, brought up to date in slices.

A put only marks its node; the next search (or an idle moment) indexes what is marked. So writing never waits for the
index and a search finds what was written just before it.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from kg.graph import Graph, Node
from kg.tokens import tokens


@dataclass(frozen=True, slots=True)
class Hit:
    """A node that matched: how many of the query's tokens it holds, and whether one is in its id or gist."""

    graph: Graph
    node: Node
    matched: int
    title: bool


def catch_up(graph: Graph, *, most: int | None = None) -> bool:
    """Index nodes that changed; True when nothing is left to do."""
    for _ in range(len(graph.unindexed) if most is None else min(most, len(graph.unindexed))):
        node_id = graph.unindexed.pop()
        node = graph.nodes.get(node_id)
        text = None if node is None else "\n".join((node.id, node.gist, *node.notes, *node.touches))
        graph.index.update(node_id, text)
    return not graph.unindexed


def matches(graph: Graph, wanted: Sequence[str], *, most: int) -> list[Hit]:
    """The nodes that hold most of these tokens, best first; orphaned ones too, ties by id."""
    catch_up(graph)
    counts = graph.index.count(wanted)
    hits = []
    for node_id, matched in heapq.nsmallest(4 * most, counts.items(), key=lambda item: (-item[1], item[0])):
        node = graph.nodes[node_id]
        title = not set(wanted).isdisjoint(tokens(f"{node.id}\n{node.gist}"))
        hits.append(Hit(graph, node, matched, title))
    hits.sort(key=lambda hit: (-hit.matched, not hit.title, hit.node.id))
    return hits[:most]
