"""kg_put_edge and kg_delete_edge.

An edge is told by its two ends and its rel. A file has more than one spelling (`src/b.py`, `./src/b.py`): an edge to
another spelling of the same file is the same edge, and keeps the spelling that it has.
"""

from dataclasses import replace
from typing import Any

from kg.commands import DeleteEdge, PutEdge
from kg.decide.credits import recurrence
from kg.decide.draft import Draft
from kg.documents import edge_document
from kg.errors import refuse
from kg.graph import Edge, EdgeKey, Graph
from kg.names import clean_endpoint, clean_rel, file_key, is_file
from kg.render import edge_line
from kg.sessions import Session
from kg.text import clean_notes, shown


def put_edge(draft: Draft, command: PutEdge) -> None:
    """Create an edge, or replace its notes."""
    session = draft.require_session(command.session_id)
    graph = draft.graph_of(session, command.level)
    key = _clean_key(command)
    old = _stored(graph, key)
    notes = clean_notes(command.notes) if command.notes is not None else None
    if old is not None and (notes is None or notes == old.notes):
        draft.emit("session_active", session=session.id)
        draft.say(f"Saved: {_where(graph, old)} (unchanged) seq {old.seq}")
        return
    if old is not None and old.notes:
        _guard(session, graph, old)
    edge = Edge(*key, notes or ()) if old is None else replace(old, notes=notes or ())
    body: dict[str, Any] = {"graph": graph.key, "edge": edge_document(edge), "was": old and edge_document(old)}
    if old is None and (credit := recurrence(draft, session, graph, edge)) is not None:
        body["credit"] = credit
    seq = draft.emit("edge_put", **body)
    draft.say(f"Saved: {_where(graph, edge)} ({'updated' if old else 'new'}) seq {seq}")
    for end in dict.fromkeys((edge.source, edge.target)):
        if not graph.is_anything(end):
            draft.say(f"Note: {end} names no node yet; the edge shows once kg_put_node creates it.")
    if "credit" in body:
        draft.say(f"Credit: {edge.target} happened again, which counts as useful.")


def delete_edge(draft: Draft, command: DeleteEdge) -> None:
    """Delete an edge; the reply repeats its notes."""
    session = draft.require_session(command.session_id)
    key = _clean_key(command)
    levels = (command.level,) if command.level else ()
    keys = [draft.graph_of(session, level).key for level in levels] or session.search_order()
    for graph in map(draft.readable, keys):
        if (edge := _stored(graph, key)) is not None:
            seq = draft.emit("edge_deleted", graph=graph.key, edge=edge_document(edge))
            draft.say(f"Deleted: {graph.level} edge seq {seq} (kg undo {seq} brings it back)")
            draft.say(edge_line(edge))
            return
    draft.emit("session_active", session=session.id)
    draft.say("Edge not found, nothing to do.")


def _clean_key(command: PutEdge | DeleteEdge) -> EdgeKey:
    return (clean_endpoint(command.source), clean_rel(command.rel), clean_endpoint(command.target))


def _stored(graph: Graph, key: EdgeKey) -> Edge | None:
    """The edge with this key, or with another spelling of the files in it."""
    found = graph.edges.get(key)
    source, rel, target = key
    if found is not None or not (is_file(source) or is_file(target)):
        return found
    named = next((end for end in (source, target) if not is_file(end)), None)
    candidates = graph.edges_of(named) if named is not None else iter(graph.edges.values())
    wanted = (_spelt(source), rel, _spelt(target))
    return next((edge for edge in candidates if edge.rel == rel and _same(edge, wanted)), None)


def _same(edge: Edge, wanted: EdgeKey) -> bool:
    return (_spelt(edge.source), edge.rel, _spelt(edge.target)) == wanted


def _spelt(end: str) -> str:
    return file_key(end) if is_file(end) else end


def _where(graph: Graph, edge: Edge) -> str:
    return f"{graph.level} edge {shown(edge.source)} --{edge.rel}--> {shown(edge.target)}"


def _guard(session: Session, graph: Graph, old: Edge) -> None:
    """Refuse to replace notes that the session was not shown.

    A read of either end shows the edge and leaves such a view. The view of an end alone would not do: a session's own
    write moves it, and shows no edge.
    """
    if session.edge_views.get((graph.key, old.key), 0) < old.seq:
        raise refuse("unseen-edge", f"{_where(graph, old)} has notes that you have not seen", shown=(graph, old))
