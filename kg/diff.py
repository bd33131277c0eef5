"""What a person changed in a graph file, as events by the writer `file` (spec/storage.md section 8).

The file is compared with the *base*, the state that kg last wrote to it, and only the differences are applied to the
state of now: a field that changed in memory since and not in the file stays. Where both changed, the person's value
wins and the other stays in the log; such nodes are named, so that `kg status` can tell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kg.documents import edge_document, node_document
from kg.events import Body
from kg.graph import Edge, EdgeKey, Graph, Node
from kg.graphfile import GraphDocument
from kg.world import World

TAKEN = (
    "gist", "notes", "touches", "tier", "created", "author", "used", "read", "useful", "credited", "recurrences",
    "gist_changes", "orphaned", "locked",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Base:
    """What kg last wrote to a file, or read from it."""

    nodes: Mapping[str, Node]
    edges: Mapping[EdgeKey, Edge]
    progress: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Edits:
    """Sub-events for one batch, and the ids of nodes that were changed on both sides."""

    events: tuple[Body, ...]
    conflicts: tuple[str, ...]


def base_of(graph: Graph) -> Base:
    """Snapshot of a graph; cheap, since nodes and edges are frozen."""
    return Base(dict(graph.nodes), dict(graph.edges), dict(graph.progress))


def edits(world: World, graph: Graph, base: Base, file: GraphDocument, *, now: str) -> Edits:
    """Compare a file with its base and give the person's changes.

    Args:
        world: for the edges of other graphs that go with a deleted user node.
        graph: the state of now.
        base: what the file held when kg last wrote or read it.
        file: what it holds.
        now: ISO time, for an orphan whose time was left out.
    """
    events: list[Body] = []
    conflicts: list[str] = []
    for node_id, node in file.nodes.items():
        wanted = _settled(node, now)
        before, present = base.nodes.get(node_id), graph.nodes.get(node_id)
        changed = [name for name in TAKEN if before is None or getattr(wanted, name) != getattr(before, name)]
        extra = before is None or dict(wanted.extra) != dict(before.extra)
        fields = {name: getattr(wanted, name) for name in changed}
        if present is not None:
            fields = {name: value for name, value in fields.items() if value != getattr(present, name)}
            if before is None or any(getattr(present, name) != getattr(before, name) for name in fields):
                conflicts.extend([node_id] if fields else [])
        if fields or (extra and (present is None or dict(present.extra) != dict(wanted.extra))):
            events.append(_put(graph.key, node_id, present, fields, wanted, extra=extra))
    gone = sorted(node_id for node_id in base.nodes.keys() - file.nodes.keys() if node_id in graph.nodes)
    events.extend(_deleted(world, graph, graph.nodes[node_id]) for node_id in gone)
    deleted = {event["id"] for event in events if event["kind"] == "node_deleted"}
    events.extend(_edge_edits(graph, base, file, deleted))
    events.extend(
        {"kind": "progress_put", "graph": graph.key, "task": task, "state": state, "was": graph.progress.get(task)}
        for task, state in file.progress.items()
        if state != base.progress.get(task) and state != graph.progress.get(task)
    )
    return Edits(tuple(events), tuple(conflicts))


def _settled(node: Node, now: str) -> Node:
    """A hand-edited tier made consistent: a locked node is active, an orphan has a time."""
    if node.locked and node.tier != "active":
        return replace(node, tier="active", orphaned=None)
    if node.tier == "orphaned" and node.orphaned is None:
        return replace(node, orphaned=now)
    return node


def _put(key: str, node_id: str, present: Node | None, fields: Body, wanted: Node, *, extra: bool) -> Body:
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    if extra and wanted.extra:
        values["extra"] = dict(wanted.extra)
    was = None
    if present is not None:
        was = {name: getattr(present, name) for name in fields}
        was = {name: list(value) if isinstance(value, tuple) else value for name, value in was.items()}
    return {"kind": "node_put", "graph": key, "id": node_id, "set": values, "was": was}


def _deleted(world: World, graph: Graph, node: Node) -> Body:
    graphs = [graph]
    if graph.key == "user":
        graphs += [each for each in world.project_graphs() if node.id in each.ends and node.id not in each.nodes]
    edges = {each.key: [edge_document(edge) for edge in each.edges_of(node.id)] for each in graphs}
    return {"kind": "node_deleted", "graph": graph.key, "id": node.id, "was": node_document(node), "edges": edges}


def _edge_edits(graph: Graph, base: Base, file: GraphDocument, deleted: set[str]) -> list[Body]:
    events: list[Body] = []
    for key, edge in file.edges.items():
        before, present = base.edges.get(key), graph.edges.get(key)
        if (before is None or before.notes != edge.notes) and (present is None or present.notes != edge.notes):
            was = edge_document(present) if present else None
            events.append({"kind": "edge_put", "graph": graph.key, "edge": edge_document(edge), "was": was})
    gone = sorted(key for key in base.edges.keys() - file.edges.keys() if key in graph.edges)
    events.extend(
        {"kind": "edge_deleted", "graph": graph.key, "edge": edge_document(graph.edges[key])}
        for key in gone
        if key[0] not in deleted and key[2] not in deleted
    )
    return events
