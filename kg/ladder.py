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
    for section, node_id in _by_anchor(sections):
        if scale.total <= room:
            return scale.trimmed
        scale.drop_anchor(section, node_id)
    for section, node_id, citation in _by_citation(sections):
        if scale.total <= room:
            break
        scale.drop_citation(section, node_id, citation)
    if any(section.edges_out for section in sections):
        _order_by_value(sections)
    for section, node in _by_node(sections) if nodes_too else ():
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
        body += sum(self.cost(lines.anchor(node_id)) for node_id in section.anchors)
        return body + self._frame(section)

    def _frame(self, section: Section) -> int:
        """Headers and count lines, which come and go with what is left."""
        frame = self.cost(lines.ACTIVE_HEADER) if section.nodes else 0
        frame += self.cost(lines.ARCHIVED_HEADER) if section.anchors else 0
        return frame + sum(self.cost(line) for line in count_lines(section))

    def drop_anchor(self, section: Section, node_id: str) -> None:
        """Leave out an archived id."""
        before = self._frame(section)
        del section.anchors[node_id]
        section.anchors_out += 1
        self._settle(section, before, self.cost(lines.anchor(node_id)))

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


def _descending(text: str) -> tuple[int, ...]:
    """Sorts texts from the last to the first."""
    return (*(-ord(char) for char in text), 1)


def _by_anchor(sections: Iterable[Section]) -> list[tuple[Section, str]]:
    rows = [(section, node_id) for section in sections for node_id in section.anchors]
    return sorted(
        rows, key=lambda row: (row[0].graph.scores.get(row[1], 0.0), _level_rank(row[0]), _descending(row[1]))
    )


def value_of(graph: Graph, citation: Citation) -> float:
    """What an edge is worth: the scores of its ends."""
    return sum(graph.scores.get(end, UNSCORED) for end in (citation.edge.source, citation.edge.target))


def _by_citation(sections: Iterable[Section]) -> list[tuple[Section, str, Citation]]:
    rows = [
        (section, node_id, each) for section in sections for node_id, held in section.citations.items() for each in held
    ]
    return sorted(
        rows,
        key=lambda row: (value_of(row[0].graph, row[2]), _level_rank(row[0]), _descending("\0".join(row[2].edge.key))),
    )


def _order_by_value(sections: Iterable[Section]) -> None:
    for section in sections:
        graph = section.graph
        for held in section.citations.values():
            held.sort(key=lambda citation, graph=graph: (-value_of(graph, citation), citation.order))  # type: ignore[misc]


def _by_node(sections: Iterable[Section]) -> list[tuple[Section, Node]]:
    """Scored nodes from the lowest; then those without a score (fresh, locked), the oldest of them first."""

    def rank(row: tuple[Section, Node]) -> tuple[object, ...]:
        section, node = row
        score = section.graph.scores.get(node.id)
        age = (node.created_seq, node.created) if score is None else (0, "")
        return (score is None, score or 0.0, age, _level_rank(section), _descending(node.id))

    return sorted(((section, node) for section in sections for node in section.nodes.values()), key=rank)
