"""kg_rename_node and kg_delete_node: one event over every graph that is concerned.

A rename must not change what any edge means (F5). Endpoints are bare ids, looked up in the edge's own graph first and
then in the user graph, so all project graphs of the folder count, in use or not.
"""

from kg.commands import DeleteNode, RenameNode
from kg.decide.draft import Draft
from kg.decide.holding import held_by_others
from kg.decide.writing import check_new_id, nudge_id
from kg.documents import edge_document, node_document
from kg.errors import Marker, refuse
from kg.graph import Graph, Node
from kg.names import clean_id
from kg.sessions import Session


def rename_node(draft: Draft, command: RenameNode) -> None:
    """Give a node another id; everything that names it follows."""
    session = draft.require_session(command.session_id)
    old_id, new_id = clean_id(command.old_id), clean_id(command.new_id)
    graph, node = _require_node(draft, session, old_id, command.level)
    if old_id == new_id:
        raise refuse("same-id", f"old_id and new_id are both {new_id}")
    check_new_id(new_id, marker="NOT RENAMED")
    if new_id in graph.nodes:
        raise refuse("id-taken", f"{graph.level}/{new_id} exists already")
    _check_touchable(draft, session, graph, node, marker="NOT RENAMED")
    others = _linking_projects(draft, graph, old_id)
    _check_meaning(draft, graph, new_id=new_id, others=others)
    edges = {key.key: [edge_document(edge) for edge in key.edges_of(old_id)] for key in (graph, *others)}
    seq = draft.emit("node_renamed", graph=graph.key, old=old_id, new=new_id, edges=edges, used=not session.maintenance)
    count = sum(map(len, edges.values()))
    draft.say(f"Renamed: {graph.level}/{old_id} → {new_id}, {count} edge references rewired seq {seq}")
    nudge_id(draft, new_id)


def _linking_projects(draft: Draft, graph: Graph, node_id: str) -> list[Graph]:
    """Project graphs whose edges to this id mean the user's node."""
    if graph.key != "user":
        return []
    return [project for project in draft.world.project_graphs() if _means_user(project, node_id)]


def _means_user(project: Graph, node_id: str) -> bool:
    return node_id in project.ends and node_id not in project.nodes


def _check_meaning(draft: Draft, graph: Graph, *, new_id: str, others: list[Graph]) -> None:
    """Refuse a rename after which an edge would mean another node than before.

    An edge to an id that nobody has yet means "the node that will have this name", so it may find it by a rename, too.
    """
    if graph.key == "user":
        unknown = [key for key in draft.world.unreadable if key.startswith("projects/")]
        if unknown:
            cause = draft.world.unreadable[unknown[0]]
            raise refuse(
                "unreadable-graph", f"the edges of {unknown[0]} cannot be known: {cause}", marker="NOT RENAMED"
            )
        for project in others:
            if new_id in project.nodes:
                raise refuse("edge-captured", f"edges of project {project.slug} would mean its own {new_id} after this")
    elif graph.upper is not None and new_id in graph.upper.nodes and new_id in graph.ends:
        raise refuse("edge-captured", f"this project's edges to the user node {new_id} would mean the renamed node")


def delete_node(draft: Draft, command: DeleteNode) -> None:
    """Delete a node that the session has read in full, with its edges in every graph."""
    session = draft.require_session(command.session_id)
    graph, node = _require_node(draft, session, clean_id(command.id), command.level)
    _check_touchable(draft, session, graph, node, marker="NOT DELETED")
    view = session.view((graph.key, node.id))
    if view.read_seq is None or view.read_seq < node.content_seq:
        raise refuse("unseen-node", f"you have not read {graph.level}/{node.id} as it is now", shown=(graph, node))
    others = _linking_projects(draft, graph, node.id)
    edges = {key.key: [edge_document(edge) for edge in key.edges_of(node.id)] for key in (graph, *others)}
    seq = draft.emit("node_deleted", graph=graph.key, id=node.id, was=node_document(node), edges=edges)
    own = len(edges[graph.key])
    elsewhere = sum(map(len, edges.values())) - own
    also = f" and {elsewhere} of other graphs" if elsewhere else ""
    draft.say(f"Deleted: {graph.level}/{node.id} with {own} edges{also} seq {seq} (kg undo {seq} brings all back)")


def _require_node(draft: Draft, session: Session, node_id: str, level: str | None) -> tuple[Graph, Node]:
    found = draft.find(session, node_id, level)
    if found is None:
        raise refuse("not-found", f"{level or 'project or user'} has no node {node_id}")
    return found


def _check_touchable(draft: Draft, session: Session, graph: Graph, node: Node, *, marker: Marker) -> None:
    if node.locked:
        raise refuse("locked", f"{graph.level}/{node.id} is locked by a person", marker=marker)
    if session.maintenance and held_by_others(draft.world, session, (graph.key, node.id), draft.now):
        raise refuse("held", f"{graph.level}/{node.id} is in the context of a live session", marker=marker)
