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
        wanted, before = _settled(node, now), base.nodes.get(node_id)
        changed = _changed(before, wanted)
        if not changed:
            continue
        present = graph.nodes.get(node_id) or (_renamed(graph, before, file) if before is not None else None)
        if present is None:
            events.append(_created(graph.key, wanted, now))
            conflicts.extend([node_id] if before is not None else [])
        elif fields := {name: value for name, value in changed.items() if value != getattr(present, name)}:
            events.append(_put(graph.key, present, fields))
            apart = before is None or any(getattr(present, name) != getattr(before, name) for name in fields)
            conflicts.extend([present.id] if apart else [])
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


def _changed(before: Node | None, wanted: Node) -> Body:
    """The fields that the person changed, all that are not empty for a node that was not there."""
    names = (*TAKEN, "extra")
    return {name: getattr(wanted, name) for name in names if getattr(wanted, name) != getattr(before or _NOTHING, name)}


_NOTHING = Node("", "")


def _renamed(graph: Graph, before: Node, file: GraphDocument) -> Node | None:
    """The node that had this id when the file was written, if it has another one now."""
    node_id = before.id
    for change in graph.changes:
        if change.kind == "renamed" and change.id == node_id and change.seq > before.content_seq:
            node_id = str(change.other)
    return None if node_id in file.nodes else graph.nodes.get(node_id)


def _created(key: str, wanted: Node, now: str) -> Body:
    """A node of the person's; also one that was edited after kg had deleted it, which comes back whole."""
    fields = _changed(None, wanted)
    fields.setdefault("created", now)
    return {"kind": "node_put", "graph": key, "id": wanted.id, "set": _plain(fields), "was": None}


def _put(key: str, present: Node, fields: Body) -> Body:
    was = {name: getattr(present, name) for name in fields}
    return {"kind": "node_put", "graph": key, "id": present.id, "set": _plain(fields), "was": _plain(was)}


def _plain(fields: Body) -> Body:
    """As JSON has it."""
    return {
        name: list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
        for name, value in fields.items()
    }


def _deleted(world: World, graph: Graph, node: Node) -> Body:
    graphs = [graph]
    if graph.key == "user":
        graphs += [each for each in world.project_graphs() if node.id in each.ends and node.id not in each.nodes]
    edges = {each.key: [edge_document(edge) for edge in each.edges_of(node.id)] for each in graphs}
    return {"kind": "node_deleted", "graph": graph.key, "id": node.id, "was": node_document(node), "edges": edges}


def _differs(one: Edge | None, other: Edge) -> bool:
    return one is None or one.notes != other.notes or dict(one.extra) != dict(other.extra)


def _edge_edits(graph: Graph, base: Base, file: GraphDocument, deleted: set[str]) -> list[Body]:
    events: list[Body] = []
    for key, edge in file.edges.items():
        before, present = base.edges.get(key), graph.edges.get(key)
        if _differs(before, edge) and _differs(present, edge):
            was = edge_document(present) if present else None
            events.append({"kind": "edge_put", "graph": graph.key, "edge": edge_document(edge), "was": was})
    gone = sorted(key for key in base.edges.keys() - file.edges.keys() if key in graph.edges)
    events.extend(
        {"kind": "edge_deleted", "graph": graph.key, "edge": edge_document(graph.edges[key])}
        for key in gone
        if key[0] not in deleted and key[2] not in deleted
    )
    return events
