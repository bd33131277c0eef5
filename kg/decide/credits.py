"""Usefulness: what a vote, a note or a repeated case stamps on a node (spec/tools.md section 13).

A stamp and its ledger entry are one event, so a crash leaves both or neither. Functions here read and judge; the
caller puts the credit into its event and the record into the log of votes.
"""

from typing import Any

from kg.decide.draft import Draft
from kg.graph import Edge, Graph, Node
from kg.limits import VOTES_PER_SESSION
from kg.names import is_file
from kg.sessions import Session

SURFACED = frozenset({"preload", "full_read", "ambient", "file"})  # routes by which kg showed a node by itself


def votes_left(session: Session) -> int:
    """How many votes a working session still has."""
    return VOTES_PER_SESSION - sum(session.votes.values())


def note_credit(draft: Draft, session: Session, graph: Graph, old: Node, changed: dict[str, Any]) -> Any:  # noqa: ANN401
    """Adding to another's lesson says that it helped; once per node, and it is one of the session's votes."""
    if len(changed.get("notes", ())) <= len(old.notes) or session.maintenance:
        return None
    key = (graph.key, old.id)
    if old.writer.removeprefix("maint:") == session.id or key in session.votes or votes_left(session) <= 0:
        return None
    likes = VOTES_PER_SESSION - votes_left(session) + 1
    draft.logs.append(("useful", vote_record(session, graph, old, via="note", likes=likes)))
    return {"graph": graph.key, "id": old.id, "session": session.id, "via": "note", "at": draft.now}


def recurrence(draft: Draft, session: Session, graph: Graph, edge: Edge) -> dict[str, Any] | None:
    """A case joined to an older lesson by instance-of says that the lesson matters."""
    case = graph.nodes.get(edge.source)
    if edge.rel != "instance-of" or case is None or is_file(edge.target):
        return None
    found = draft.world.resolve(graph.key, edge.target)
    if found is None:
        return None
    above = draft.world.graph(found[0])
    lesson = above.nodes[found[1]]
    if case.created_seq <= lesson.created_seq or case.created_seq in lesson.recurrences:
        return None
    record = vote_record(session, above, lesson, via="recurrence", likes=VOTES_PER_SESSION - votes_left(session))
    record |= {"instance": case.id, "case_seq": case.created_seq, "at": "write"}
    draft.logs.append(("useful", record))
    return {"graph": found[0], "id": found[1], "case_seq": case.created_seq, "at": case.created}


def vote_record(session: Session, graph: Graph, node: Node, *, via: str, likes: int) -> dict[str, Any]:
    """A line of useful.jsonl for a stamp. `likes`: votes of this session, this one included."""
    key = (graph.key, node.id)
    return {
        "session": session.id, "client_session": session.client_id, "project": session.project, "id": node.id,
        "level": graph.level, "via": via, "surfaced": via in SURFACED, "promoted": key in session.promoted,
        "archived": node.tier != "active", "session_likes": likes,
    }  # fmt: skip
