"""Making levels fit a limit: one item a step, the least valuable first, until the text fits.

Every item's cost is fixed before the first step, so a step is one subtraction and the whole is linear after one sort.
Values are the scores of the graph's last plan (`Graph.scores`); the ladder never scores anything itself. What is left
out is neither seen nor preloaded.
"""

from collections.abc import Callable, Iterable, Sequence

from kg import lines
from kg.body import Citation, Section, count_lines
from kg.graph import Graph, Node

Measure = Callable[[str], int]
UNSCORED = 0.5  # value of an end without a score: a file, another level, a fresh or locked node


def fit(sections: Sequence[Section], *, room: int, measure: Measure, nodes_too: bool) -> bool:
    """Take items out of the sections until their lines fit.

    Args:
        sections: user first, then project; changed in place.
        room: what their lines may take together, in the unit of `measure`, line breaks included.
        measure: length of a text in the client's unit.
        nodes_too: whole active nodes may go as a last step (the preload); else only anchors and citations.

    Returns:
        Whether anything was left out.
    """
    scale = _Scale(sections, measure)
    if nodes_too:
        _oversized(sections, scale, room)
    if scale.total > room:
        _drop_anchors(sections, scale, room)
    if scale.total > room:
        for section, node_id, citation in _by_citation(sections):
            if scale.total <= room:
                break
            scale.drop_citation(section, node_id, citation)
        _order_by_value(sections)
    for section, node in _by_node(sections) if nodes_too and scale.total > room else ():
        if scale.total <= room:
            break
        scale.drop_node(section, node)
    return scale.trimmed


class _Scale:
    """The running total of what the sections cost."""

    def __init__(self, sections: Sequence[Section], measure: Measure) -> None:
        self._measure = measure
        self.trimmed = False
        self.total = sum(self._whole(section) for section in sections)

    def cost(self, line: str) -> int:
        """A line and its break."""
        return self._measure(line) + 1

    def _whole(self, section: Section) -> int:
        body = sum(self.cost(section.node_line(node)) for node in section.nodes.values())
        body += sum(self.cost(each.line) for held in section.citations.values() for each in held)
        body += sum(map(self.anchor_cost, section.anchors))
        return body + self._frame(section)

    def _frame(self, section: Section) -> int:
        """Headers and count lines, which come and go with what is left."""
        frame = self.cost(lines.ACTIVE_HEADER) if section.nodes else 0
        frame += self.cost(lines.ARCHIVED_HEADER) if section.anchors else 0
        return frame + sum(self.cost(line) for line in count_lines(section))

    def anchor_cost(self, node_id: str) -> int:
        """The line of an archived id and its break: two blanks stand before the id."""
        return 3 + (len(node_id) if node_id.isascii() else self._measure(node_id))

    def drop_anchors(self, section: Section, kept: list[str], gone: int) -> None:
        """Leave out archived ids that cost so much together."""
        before = self._frame(section)
        section.anchors_out += len(section.anchors) - len(kept)
        section.anchors = kept
        self._settle(section, before, gone)

    def drop_citation(self, section: Section, node_id: str, citation: Citation) -> None:
        """Leave out an edge."""
        before = self._frame(section)
        section.citations[node_id].remove(citation)
        section.edges_out += 1
        self._settle(section, before, self.cost(citation.line))

    def drop_node(self, section: Section, node: Node) -> None:
        """Leave out a node with the citations under it; citations elsewhere that name it stay."""
        before = self._frame(section)
        gone = self.cost(section.node_line(node))
        gone += sum(self.cost(citation.line) for citation in section.citations.pop(node.id))
        del section.nodes[node.id]
        section.nodes_out += 1
        self._settle(section, before, gone)

    def _settle(self, section: Section, before: int, gone: int) -> None:
        self.trimmed = True
        self.total += self._frame(section) - before - gone


def _oversized(sections: Sequence[Section], scale: _Scale, room: int) -> None:
    """A gist longer than a third of everything goes first: it must not push out all others for its score."""
    for section in sections:
        for node in list(section.nodes.values()):
            if scale.cost(section.node_line(node)) > room / 3:
                scale.drop_node(section, node)


def _level_rank(section: Section) -> int:
    return 0 if section.graph.level == "user" else 1  # at equal value the project stays longer


def _drop_anchors(sections: Sequence[Section], scale: _Scale, room: int) -> None:
    """Drop archived ids, the least valuable first, as few as it takes. There may be 10,000: a step is one sum.

    A count line grows by a digit now and then, which is why it is tried again with what is still too much.
    """
    rows = [(section, node_id) for section in sections for node_id in sorted(section.anchors, reverse=True)]
    values = [section.graph.scores.get(node_id, 0.0) for section, node_id in rows]
    order = sorted(range(len(rows)), key=values.__getitem__)  # stable: ties by level, then from the last id
    dropped = 0
    while scale.total > room and dropped < len(order):
        excess, gone = scale.total - room, {id(section): 0 for section in sections}
        while excess > 0 and dropped < len(order):
            section, node_id = rows[order[dropped]]
            cost = scale.anchor_cost(node_id)
            gone[id(section)] += cost
            excess -= cost
            dropped += 1
        kept: dict[int, list[str]] = {id(section): [] for section in sections}
        for number in order[dropped:]:
            section, node_id = rows[number]
            kept[id(section)].append(node_id)
        for section in sections:
            if gone[id(section)]:
                scale.drop_anchors(section, kept[id(section)], gone[id(section)])


def value_of(graph: Graph, citation: Citation) -> float:
    """What an edge is worth: the scores of its ends."""
    return sum(graph.scores.get(end, UNSCORED) for end in (citation.edge.source, citation.edge.target))


def _by_citation(sections: Iterable[Section]) -> list[tuple[Section, str, Citation]]:
    rows = [
        (section, node_id, each) for section in sections for node_id, held in section.citations.items() for each in held
    ]
    rows.sort(key=lambda row: "\0".join(row[2].edge.key), reverse=True)
    rows.sort(key=lambda row: (value_of(row[0].graph, row[2]), _level_rank(row[0])))
    return rows


def _order_by_value(sections: Iterable[Section]) -> None:
    for section in sections:
        graph = section.graph
        for held in section.citations.values():
            held.sort(key=lambda citation, graph=graph: (-value_of(graph, citation), citation.order))  # type: ignore[misc]


def _by_node(sections: Iterable[Section]) -> list[tuple[Section, Node]]:
    """Scored nodes from the lowest; then those without a score (fresh, locked), the oldest of them first."""

    def rank(row: tuple[Section, Node]) -> tuple[bool, float, int, str, int]:
        section, node = row
        score = section.graph.scores.get(node.id)
        if score is None:
            return (True, 0.0, node.created_seq, node.created, _level_rank(section))
        return (False, score, 0, "", _level_rank(section))

    rows = [(section, node) for section in sections for node in section.nodes.values()]
    rows.sort(key=lambda row: row[1].id, reverse=True)
    rows.sort(key=rank)
    return rows
