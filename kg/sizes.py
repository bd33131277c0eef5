"""Sizes of a level while its nodes move between tiers: exact, in O(degree), without rendering.

`under` is the rule of spec/rendering.md section 2 as a function of the states of an edge's two ends. `Table` is a
level laid out for planning: nodes are numbers in id order, so that comparing numbers is comparing ids, and each knows
its links. It keeps the size of the body, the cost of the anchors, and what each node's neighbours weigh, all of them in
whole numbers, so that a move and its way back leave nothing behind.

`WhatIf` does the same on a graph of the owner without copying it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kg import lines
from kg.graph import Edge, Graph, Tier
from kg.job import Job, JobEdge
from kg.limits import (
    ANCHOR_PERCENT,
    FILL_PERCENT,
    FRESH_PERCENT,
    HUB_FLOOR,
    IN_EDGE_WEIGHT,
    NEIGHBOUR_ACTIVE_WEIGHT,
    NEIGHBOUR_ARCHIVED_WEIGHT,
    OUT_EDGE_WEIGHT,
)

State = Literal["active", "archived", "orphaned", "outside", "missing"]
HIDING: frozenset[State] = frozenset({"orphaned", "missing"})
OUTSIDE = -1  # number of an end that is a file or a node of the graph above: the entry behind the last node's
NEIGHBOUR_WEIGHTS: Mapping[State, int] = {"active": NEIGHBOUR_ACTIVE_WEIGHT, "archived": NEIGHBOUR_ARCHIVED_WEIGHT}
WEIGHT_UNIT = 1_000  # edge weights are hundredths, neighbours' tenths


@dataclass(frozen=True, slots=True)
class Bounds:
    """What follows from the budget of a level, in characters."""

    budget: int

    @property
    def ceiling(self) -> int:
        """Up to here a level is filled, and down to here it is archived."""
        return self.budget * FILL_PERCENT // 100

    @property
    def anchors(self) -> int:
        """What the ids of archived nodes may take."""
        return self.budget * ANCHOR_PERCENT // 100

    @property
    def fresh(self) -> int:
        """What the newest nodes may take without having to compete."""
        return self.budget * FRESH_PERCENT // 100


def under(source: State, target: State) -> Literal["source", "target"] | None:
    """Under which end an edge is cited, None when it is not shown."""
    if source == "active":
        return None if target in HIDING else "source"
    return "target" if target == "active" and source not in HIDING else None


def headers(active: int, archived: int) -> int:
    """Cost of the headers of a body with so many nodes."""
    return (lines.charge(lines.ACTIVE_HEADER) if active else 0) + (
        lines.charge(lines.ARCHIVED_HEADER) if archived else 0
    )


# An edge as one of its ends has it: number of the other end, whether it leads there, the costs of citing it under its
# source and under its target. A bare tuple, because a job has tens of thousands.
Link = tuple[int, bool, int, int]


def cost_of(link: Link, own: State, other: State) -> int:
    """What an edge costs when its ends are in these states."""
    _, outgoing, out, into = link
    place = under(own, other) if outgoing else under(other, own)
    return 0 if place is None else out if place == "source" else into


def counted_here(link: Link) -> bool:
    """Whether an edge is counted at this end when all are: at its source if that is a node."""
    other, outgoing, *_ = link
    return outgoing or other == OUTSIDE


class Table:
    """A level on which moves are tried.

    Attributes:
        ids: of the nodes; a node's number is its place here.
        tiers: of the nodes, and behind them the state of everything outside.
        shown: cost of a node when it is active: its line, and citations of edges to itself.
        links: of each node to nodes and outside; edges to nothing are never shown and stand only in `floors`.
        floors: the connectedness that a node has by its number of edges alone.
        weights: of a node's neighbours, in thousandths.
        size: characters of the body.
        anchors: characters of the lines of archived ids.
        active: number of active nodes.
        archived: number of archived ones.
    """

    __slots__ = (
        "active", "anchor", "anchors", "archived", "floors", "ids", "links", "shown", "size", "tiers", "weights",
    )  # fmt: skip

    def __init__(self, job: Job) -> None:
        self.ids = [node.id for node in job.nodes]
        self.shown = [node.charge for node in job.nodes]
        self.anchor = [lines.charge(lines.anchor(node_id)) for node_id in self.ids]
        self.links: list[list[Link]] = [[] for _ in self.ids]
        self.tiers: list[State] = [node.tier for node in job.nodes]
        self.weights = [0] * len(self.ids)
        self.active, self.archived = self.tiers.count("active"), self.tiers.count("archived")
        self.size = headers(self.active, self.archived)
        self.tiers.append("outside")
        self.floors = self._linked(job)
        self.size += sum(self._cost(number) for number in range(len(self.ids)))
        self.anchors = sum(self.anchor[number] for number in self.of_tier("archived"))

    def __len__(self) -> int:
        return len(self.ids)

    def delta(self, number: int, tier: Tier) -> int:
        """By how much the size changes when this node moves."""
        old = self.tiers[number]
        if old == tier:
            return 0
        change = self._line(number, tier) - self._line(number, old)
        for link in self.links[number]:
            other = self.tiers[link[0]]
            change += cost_of(link, tier, other) - cost_of(link, old, other)
        active = self.active + (tier == "active") - (old == "active")
        archived = self.archived + (tier == "archived") - (old == "archived")
        return change + headers(active, archived) - headers(self.active, self.archived)

    def move(self, number: int, tier: Tier) -> None:
        """Move a node."""
        old = self.tiers[number]
        self.size += self.delta(number, tier)
        self.active += (tier == "active") - (old == "active")
        self.archived += (tier == "archived") - (old == "archived")
        self.anchors += self.anchor[number] * ((tier == "archived") - (old == "archived"))
        self.tiers[number] = tier
        step = NEIGHBOUR_WEIGHTS.get(tier, 0) - NEIGHBOUR_WEIGHTS.get(old, 0)
        for other, outgoing, *_ in self.links[number]:
            if other != OUTSIDE:
                self.weights[other] += step * (IN_EDGE_WEIGHT if outgoing else OUT_EDGE_WEIGHT)

    def weighted(self, number: int) -> float:
        """Connectedness by the tiers of a node's neighbours."""
        return self.weights[number] / WEIGHT_UNIT

    def connectedness(self, number: int) -> float:
        """Connectedness as it is scored."""
        return max(self.weighted(number), self.floors[number])

    def of_tier(self, tier: Tier) -> Iterator[int]:
        """The nodes in this tier, in id order."""
        return (number for number in range(len(self.ids)) if self.tiers[number] == tier)

    def all_active(self, *, most: int) -> bool:
        """Whether the level would have at most this size if everything that is not orphaned were active."""
        size = lines.charge(lines.ACTIVE_HEADER)
        for number in range(len(self.ids)):
            if self.tiers[number] != "orphaned":
                size += self.shown[number] + sum(
                    cost_of(link, "active", "outside" if link[0] == OUTSIDE else "active")
                    for link in self.links[number]
                    if self.tiers[link[0]] != "orphaned" and counted_here(link)
                )
                if size > most:
                    return False
        return True

    def _cost(self, number: int) -> int:
        """What a node costs as things are: its line, and the edges that are counted at this end."""
        own = self.tiers[number]
        edges = (cost_of(link, own, self.tiers[link[0]]) for link in self.links[number] if counted_here(link))
        return self._line(number, own) + sum(edges)

    def _line(self, number: int, tier: State) -> int:
        return self.shown[number] if tier == "active" else self.anchor[number] if tier == "archived" else 0

    def _linked(self, job: Job) -> list[float]:
        """Lay out the links and let neighbours weigh; gives the floor of each node."""
        numbers = {node_id: number for number, node_id in enumerate(self.ids)}
        degrees = [0] * len(self.ids)
        for edge in job.edges:
            source, target = numbers.get(edge.source), numbers.get(edge.target)
            out, into = (lines.charge(lines.citation(edge, outgoing=outgoing)) for outgoing in (True, False))
            if source is not None and source == target:
                self.shown[source] += out
                continue
            for own, other, outgoing in ((source, target, True), (target, source, False)):
                if own is not None:
                    degrees[own] += 1
                    if other is not None or _is_outside(edge, outgoing=outgoing):
                        self.links[own].append((OUTSIDE if other is None else other, outgoing, out, into))
                if own is not None and other is not None:
                    weight = IN_EDGE_WEIGHT if outgoing else OUT_EDGE_WEIGHT
                    self.weights[other] += weight * NEIGHBOUR_WEIGHTS.get(self.tiers[own], 0)
        return [HUB_FLOOR * math.log(1 + degree) for degree in degrees]


def _is_outside(edge: JobEdge, *, outgoing: bool) -> bool:
    """Whether the far end of an edge lies outside."""
    return edge.outside in ("both", "target" if outgoing else "source")


class WhatIf:
    """A graph with some nodes moved in thought. Reads the graph and never changes it."""

    __slots__ = ("_counts", "_moved", "anchors", "graph", "size")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.size = graph.size
        self._moved: dict[str, Tier] = {}
        self._counts = graph.counts.copy()
        self.anchors = graph.anchors  # characters of the lines of archived ids

    def tier(self, node_id: str) -> Tier:
        """The tier of a node, after the moves."""
        return self._moved.get(node_id) or self.graph.nodes[node_id].tier

    def move(self, node_id: str, tier: Tier) -> None:
        """Move a node."""
        old = self.tier(node_id)
        change = self._line(node_id, tier) - self._line(node_id, old) - self._headers()
        for edge in self.graph.edges_of(node_id):
            change -= self._cost(edge)
        self._moved[node_id] = tier
        for edge in self.graph.edges_of(node_id):
            change += self._cost(edge)
        self._counts[old] -= 1
        self._counts[tier] += 1
        self.size += change + self._headers()
        self.anchors += lines.charge(lines.anchor(node_id)) * ((tier == "archived") - (old == "archived"))

    def _headers(self) -> int:
        return headers(self._counts["active"], self._counts["archived"])

    def _line(self, node_id: str, tier: Tier) -> int:
        if tier == "active":
            return lines.charge(lines.node_line(self.graph.nodes[node_id]))
        return lines.charge(lines.anchor(node_id)) if tier == "archived" else 0

    def _cost(self, edge: Edge) -> int:
        place = under(self._state(edge.source), self._state(edge.target))
        return 0 if place is None else lines.charge(lines.citation(edge, outgoing=place == "source"))

    def _state(self, end: str) -> State:
        if end in self.graph.nodes:
            return self.tier(end)
        return "outside" if self.graph.is_anything(end) else "missing"
