"""The line grammar of a level's body: the one place that makes a line, and so its cost.

Stored text never starts at column 0 (spec/rendering.md section 9): every line here begins with two or four blanks.
The cost of a line is its characters and the break after it.
"""

from typing import Protocol

from kg.text import shown

ACTIVE_HEADER = "ACTIVE:"
ARCHIVED_HEADER = "ARCHIVED (ids only; kg_read(session_id, id) brings one back):"


class HasGist(Protocol):
    """What a node line needs of a node."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def gist(self) -> str:
        """Its gist, as stored."""
        ...

    @property
    def locked(self) -> bool:
        """Whether a person locked it."""
        ...


class HasEnds(Protocol):
    """What a citation needs of an edge."""

    @property
    def source(self) -> str:
        """Where it starts."""
        ...

    @property
    def rel(self) -> str:
        """Its name."""
        ...

    @property
    def target(self) -> str:
        """Where it ends."""
        ...


def charge(line: str) -> int:
    """Cost of a line in code points, its line break included."""
    return len(line) + 1


def node_line(node: HasGist) -> str:
    """An active node with its gist."""
    mark = " [locked]" if node.locked else ""
    return f"  {node.id}{mark}: {shown(node.gist)}"


def preloaded_line(node: HasGist) -> str:
    """An active node whose gist this context already has from the preload."""
    return f"  {node.id} (preloaded)"


def citation(edge: HasEnds, *, outgoing: bool) -> str:
    """An edge under one of its ends; a file is shown as stored."""
    if outgoing:
        return f"    → {edge.rel} → {shown(edge.target)}"
    return f"    ← {edge.rel} ← {shown(edge.source)}"


def anchor(node_id: str) -> str:
    """An archived node: its id."""
    return f"  {node_id}"
