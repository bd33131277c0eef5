"""kg_put_node: creating, updating, and the guard that lets nobody overwrite what they have not seen.

The guard compares integers only (spec/sessions.md section 4): what the stored node's content_seq is, and from which seq
this session's view of it was rendered.
"""

from typing import Any

from kg.clock import seconds_since
from kg.commands import PutNode
from kg.decide.credits import note_credit
from kg.decide.draft import Draft
from kg.decide.news import add_news
from kg.errors import refuse
from kg.graph import Graph, Node
from kg.healing import heal
from kg.limits import (
    CHURN_CHANGES,
    CHURN_DAYS,
    DAY_S,
    GIST_CHARS,
    ID_WORDS_NUDGE,
    ID_WORDS_REFUSED,
)
from kg.names import clean_id, has_date, id_words
from kg.sessions import Session
from kg.text import clean_gist, clean_notes, clean_touches, shown


def put_node(draft: Draft, command: PutNode) -> None:
    """Create or update a node."""
    session = draft.require_session(command.session_id)
    graph = draft.graph_of(session, command.level)
    healed = heal(command.gist, command.notes, command.touches)
    node_id = clean_id(command.id)
    sent: dict[str, Any] = {"gist": clean_gist(healed.gist)}
    if healed.notes is not None:
        sent["notes"] = clean_notes(healed.notes)
    if healed.touches is not None:
        sent["touches"] = clean_touches(healed.touches)
    old = graph.nodes.get(node_id)
    credited = False
    if old is None:
        _create(draft, graph, node_id, sent)
    else:
        credited = _update(draft, session, graph, old, sent)
    _nudge(draft, node_id, sent["gist"], new=old is None)
    if healed.recovered:
        draft.say(f"Note: the gist held a whole tool call; recovered from it: {', '.join(healed.recovered)}.")
    if credited:
        draft.say(f"Credit: your note on {graph.level}/{node_id} counts as useful to its author's lesson.")
    draft.say_whose()
    add_news(draft, session)


def _create(draft: Draft, graph: Graph, node_id: str, sent: dict[str, Any]) -> None:
    check_new_id(node_id, marker="NOT WRITTEN")
    if graph.upper is not None and node_id in graph.upper.nodes and node_id in graph.ends:
        raise refuse(
            "edge-captured",
            f"{node_id} is a user node that this project's edges point at; a project node would take them",
            marker="NOT WRITTEN",
        )
    seq = draft.emit(
        "node_put", graph=graph.key, id=node_id, was=None, view="read",
        set={"created": draft.now, "used": draft.now, **_json(sent)},
    )  # fmt: skip
    draft.say(f"Saved: {graph.level}/{node_id} (new) seq {seq}")


def check_new_id(node_id: str, *, marker: Any) -> None:  # noqa: ANN401 - a Marker
    """Refuse an id that makes a sentence; the gist makes the claim."""
    if node_id.count("-") + 1 >= ID_WORDS_REFUSED and (words := len(id_words(node_id))) >= ID_WORDS_REFUSED:
        raise refuse("long-id", f"{node_id} has {words} words", marker=marker)


def _update(draft: Draft, session: Session, graph: Graph, old: Node, sent: dict[str, Any]) -> bool:
    """Write what differs; True when that was a credit to the node's author."""
    changed = {name: value for name, value in sent.items() if value != getattr(old, name)}
    if changed:
        _guard(draft, session, graph, old, changed)
    fields: dict[str, Any] = _json(changed)
    if old.tier != "active":
        fields |= {"tier": "active", "orphaned": None}
    if not session.maintenance:
        fields["used"] = draft.now
        if changed and old.author is not None:
            fields["author"] = None  # from here on `by` says it
    elif changed:
        fields["author"] = old.writer
    view = session.view((graph.key, old.id))
    whole = all(getattr(old, name) == () or name in sent for name in ("notes", "touches"))
    current = view.read_seq is not None and view.read_seq >= old.content_seq
    body: dict[str, Any] = {"graph": graph.key, "id": old.id, "set": fields, "was": _was(old, fields)}
    if changed:
        body["view"] = "read" if whole or current else "seen"
    credit = note_credit(draft, session, graph, old, changed) if "notes" in changed else None
    if credit:
        body["credit"] = credit
    seq = draft.emit("node_put", **body)
    where = f"{graph.level}/{old.id}"
    if not changed:
        draft.say(f"Unchanged: {where} already says exactly this (seq {old.content_seq})")
        return False
    draft.say(f"Saved: {where} (updated: {', '.join(sorted(changed))}) seq {seq}")
    if "gist" in changed and view.seen_seq is None and not _own(session, old):
        draft.say(f"Note: you had not seen this node; it said (kept in the log, undo seq {seq}):")
        draft.say(f"  gist: {shown(old.gist)}")
    return credit is not None


def _guard(draft: Draft, session: Session, graph: Graph, old: Node, changed: dict[str, Any]) -> None:
    """Refuse a write over content that its writer was not shown."""
    if old.locked:
        raise refuse("locked", f"{graph.level}/{old.id} is locked by a person", marker="NOT WRITTEN")
    view = session.view((graph.key, old.id))
    if not _own(session, old) and view.seen_seq is not None and view.seen_seq < old.content_seq:
        raise refuse(
            "stale-view",
            f"{graph.level}/{old.id} was changed at seq {old.content_seq}; you saw seq {view.seen_seq}",
            shown=(graph, old),
        )
    replaced = [name for name in ("notes", "touches") if name in changed and getattr(old, name)]
    if replaced and (view.read_seq is None or view.read_seq < old.content_seq):
        raise refuse(
            "partial-view",
            f"your {' and '.join(replaced)} would replace stored ones of {graph.level}/{old.id}, "
            f"seq {old.content_seq}, that you have not read",
            shown=(graph, old),
        )
    if session.maintenance and churns(old, draft.now):
        raise refuse("churning", f"{graph.level}/{old.id} changed its gist {len(old.gist_changes)} times lately")


def _own(session: Session, node: Node) -> bool:
    return node.by in {session.id, f"maint:{session.id}"}


def churns(node: Node, now: str) -> bool:
    """Whether a node's gist changed too often lately for maintenance to rewrite it."""
    lately = [at for at in node.gist_changes if seconds_since(at, now) < CHURN_DAYS * DAY_S]
    return len(lately) > CHURN_CHANGES


def _nudge(draft: Draft, node_id: str, gist: str, *, new: bool) -> None:
    if len(gist) > GIST_CHARS:
        draft.say(
            f"Note: the gist has {len(gist)} characters; keep the claim within {GIST_CHARS} and move the rest to notes."
        )
    if new:
        nudge_id(draft, node_id)


def nudge_id(draft: Draft, node_id: str) -> None:
    """Advice on an id that was accepted."""
    if node_id.count("-") + 1 >= ID_WORDS_NUDGE and len(id_words(node_id)) >= ID_WORDS_NUDGE:
        draft.say("Note: this id has 6 words; 3-5 that name the subject are found more easily.")
    if has_date(node_id):
        draft.say("Note: the id holds a date; an id names the subject, kg keeps the time by itself.")


def _json(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def _was(old: Node, fields: dict[str, Any]) -> dict[str, Any]:
    """What an update replaces, so that history and undo need nothing else."""
    return _json({name: getattr(old, name) for name in fields})
