"""kg_useful and kg_progress: what helped, and where a longer task stands."""

from collections.abc import Mapping
from typing import Any

from kg.codec import json_size, to_json
from kg.commands import Progress, Useful
from kg.decide.draft import Draft
from kg.decide.writing import votes_left
from kg.errors import Refusal, refuse
from kg.graph import Graph, Node
from kg.limits import (
    CREDITS_PER_SESSION,
    STATE_BYTES,
    TRAIL_ENTRIES,
    TRAIL_ITEMS,
    TRAIL_TEXT_CHARS,
    VOTES_GUIDE,
    VOTES_PER_SESSION,
)
from kg.names import clean_id
from kg.sessions import Session

MAINTENANCE_TASKS = frozenset({"maintain", "chore"})
_REASONS: Mapping[str, str] = {
    "duplicate": "already voted for by this session",
    "cap": "not counted: this session has no votes left",
    "not_found": "NOT FOUND",
    "credits": "not counted: credits are for maintenance sessions, at most 15 in one",
}


def useful(draft: Draft, command: Useful) -> None:
    """Vote for nodes; each id gets a line of its own."""
    session = draft.require_session(command.session_id)
    votes: list[dict[str, Any]] = []
    lines: list[str] = []
    for raw in command.ids:
        found, node_id, reason = _judge(draft, session, raw, command, votes)
        record: dict[str, Any] = {"session": session.id, "client_session": session.client_id, "id": node_id}
        if found is None or reason is not None:
            lines.append(f"  {node_id}: {_REASONS[reason or 'not_found']}")
            draft.logs.append(("useful", {**record, "refused": reason or "not_found"}))
            continue
        graph, node = found
        vote = _vote(session, graph, node, command.credits, draft.now)
        votes.append(vote)
        lines.append(f"  {graph.level}/{node.id}: counted")
        log = {"level": graph.level, "via": vote["via"], "archived": node.tier != "active", "session_likes": len(votes)}
        draft.logs.append(("useful", {**record, **log, "project": session.project}))
    if votes:
        seq = draft.emit("node_voted", votes=votes)
        draft.say(f"Saved: {len(votes)} of {len(command.ids)} votes seq {seq}")
    else:
        draft.emit("session_active", session=session.id)
        draft.say("Error (not-found): no vote was counted. Check the ids with kg_search.")
    for line in lines:
        draft.say(line)
    _guide(draft, session, len(votes))
    if not votes:
        raise Refusal("not-found", str(draft.text))


def _judge(
    draft: Draft, session: Session, raw: str, command: Useful, votes: list[dict[str, Any]]
) -> tuple[tuple[Graph, Node] | None, str, str | None]:
    node_id = clean_id(raw)
    found = draft.find(session, node_id, command.level)
    if found is None:
        return None, node_id, "not_found"
    key = (found[0].key, node_id)
    spent = [(vote["graph"], vote["id"]) for vote in votes]
    if session.maintenance:
        stamps = command.credits or 1
        over = session.credits + sum(vote["stamps"] for vote in votes) + stamps > CREDITS_PER_SESSION
        return found, node_id, "credits" if over else None
    if command.credits is not None:
        return found, node_id, "credits"
    if key in session.votes or key in spent:
        return found, node_id, "duplicate"
    return found, node_id, "cap" if votes_left(session) - len(votes) <= 0 else None


def _vote(session: Session, graph: Graph, node: Node, credits_asked: int | None, now: str) -> dict[str, Any]:
    vote: dict[str, Any] = {"graph": graph.key, "id": node.id, "session": session.id, "at": now}
    if session.maintenance:
        return {**vote, "via": "maintenance", "maintenance": True, "stamps": credits_asked or 1}
    return {**vote, "via": session.view((graph.key, node.id)).via, "stamps": 1}


def _guide(draft: Draft, session: Session, new: int) -> None:
    if session.maintenance:
        return
    spent = VOTES_PER_SESSION - votes_left(session) + new
    if spent > VOTES_GUIDE:
        left = VOTES_PER_SESSION - spent
        draft.say(f"Note: {spent - VOTES_GUIDE} over the guide of {VOTES_GUIDE} votes a session; {left} remain.")


def progress(draft: Draft, command: Progress) -> None:
    """Store the state of a task, or give the stored one."""
    session = draft.require_session(command.session_id)
    task = clean_id(command.task_id)
    graph = draft.graph_of(session, command.level)
    if task in MAINTENANCE_TASKS and not session.maintenance:
        draft.emit("session_marked", session=session.id)
    stored = graph.progress.get(task)
    if command.state is None:
        draft.emit("session_active", session=session.id)
        draft.say("none" if stored is None else to_json(stored))
        return
    size = json_size(command.state)
    if size > STATE_BYTES:
        raise refuse("bad-arguments", f"state has {size} bytes as JSON; at most {STATE_BYTES} are kept")
    kept = {name: value for name, value in command.state.items() if name not in {"last", "trail"}}
    trail = stored.get("trail") if stored else None
    entry = {"at": draft.now, **{name: _clipped(value) for name, value in kept.items()}}
    state = {**kept, "last": draft.now, "trail": [*(trail if isinstance(trail, list) else []), entry][-TRAIL_ENTRIES:]}
    seq = draft.emit("progress_put", graph=graph.key, task=task, state=state, was=stored)
    draft.say(f"Saved: progress {task} seq {seq}")


def _clipped(value: object) -> object:
    """A short copy for the trail."""
    if isinstance(value, str):
        return value[:TRAIL_TEXT_CHARS]
    if isinstance(value, list):
        return [_clipped(item) for item in value[:TRAIL_ITEMS]]
    if isinstance(value, dict):
        return to_json(value)[:TRAIL_TEXT_CHARS]
    return value
