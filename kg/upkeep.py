"""What the owner puts right by itself after loading, whoever opens the folder (spec/storage.md section 6).

Each function reads the world and gives the bodies of events; none of them changes anything.
"""

from collections.abc import Iterator

from kg.clock import seconds_since
from kg.documents import edge_document
from kg.events import Body
from kg.graph import Edge, Graph
from kg.healing import heal
from kg.limits import SESSION_IDLE_S
from kg.world import World


def healed_nodes(world: World) -> Iterator[Body]:
    """Gists that swallowed a whole tool call, cut at the leak."""
    for graph in world.graphs.values():
        for node in graph.nodes.values():
            healed = heal(node.gist, node.notes or None, node.touches or None)
            if not healed.recovered or not healed.gist:  # nothing readable stood before the leak: keep what there is
                continue
            fields: Body = {"gist": healed.gist}
            if healed.notes and not node.notes:
                fields["notes"] = list(healed.notes)
            if healed.touches and not node.touches:
                fields["touches"] = list(healed.touches)
            fields["author"] = node.writer  # healing is no writing: who wrote it stays its author
            was = {name: getattr(node, name) for name in fields}
            was = {name: list(value) if isinstance(value, tuple) else value for name, value in was.items()}
            yield {"kind": "node_put", "graph": graph.key, "id": node.id, "set": fields, "was": was}


def dangling_edges(world: World, *, kept_from: int) -> Iterator[Body]:
    """Edges to ids that name no node, unless their last change lies in the kept log: the node may still come."""
    for graph in world.graphs.values():
        if graph.upper is not None and "user" in world.unreadable:
            continue
        stale = [edge_document(edge) for edge in graph.edges.values() if edge.seq < kept_from and _dangles(graph, edge)]
        if stale:
            yield {"kind": "edges_cleaned", "graph": graph.key, "edges": stale}


def _dangles(graph: Graph, edge: Edge) -> bool:
    return not (graph.is_anything(edge.source) and graph.is_anything(edge.target))


def recurrences(world: World) -> Iterator[Body]:
    """Cases joined to an older lesson whose credit is missing (spec/tools.md section 13)."""
    for graph in world.graphs.values():
        for source, rel, target in graph.edges:
            case = graph.nodes.get(source) if rel == "instance-of" else None
            found = world.resolve(graph.key, target) if case is not None else None
            if case is None or found is None:
                continue
            lesson = world.graph(found[0]).nodes[found[1]]
            if case.created_seq > lesson.created_seq and case.created_seq not in lesson.recurrences:
                credit = {"graph": found[0], "id": found[1], "case_seq": case.created_seq, "at": case.created}
                yield {"kind": "node_voted", "votes": [credit]}


def expired_sessions(world: World, *, now: str) -> list[str]:
    """Ids of sessions that have been silent too long."""
    return [sid for sid, session in world.sessions.items() if seconds_since(session.active, now) > SESSION_IDLE_S]
