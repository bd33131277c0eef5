"""kg_useful and kg_progress: what helped, and where a longer task stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from kg.codec import json_size, to_json
from kg.commands import Progress, Useful
from kg.decide.credits import vote_record, votes_left
from kg.decide.draft import Draft
from kg.errors import Refusal, refuse
from kg.graph import Graph, Node
from kg.limits import (
    CREDITS_PER_SESSION,
    STATE_BYTES,
    STATE_DEPTH,
    TRAIL_ENTRIES,
    TRAIL_ITEMS,
    TRAIL_TEXT_CHARS,
    VOTES_GUIDE,
    VOTES_PER_SESSION,
)
from kg.names import clean_id
from kg.sessions import Session
from kg.text import quoted, tidy

MAINTENANCE_TASKS = frozenset({"maintain", "chore"})
_REASONS: Mapping[str, str] = {
    "duplicate": "already voted for by this session",
    "cap": "not counted: this session has no votes left",
    "not_found": "NOT FOUND",
    "credits": "not counted: credits are for maintenance sessions, at most 15 in one",
}


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What became of one id: the node and its vote, or the reason (key of _REASONS) or text of its refusal."""

    node_id: str
    graph: Graph | None = None
    node: Node | None = None
    vote: dict[str, Any] | None = None
    reason: str = "not_found"
    fault: str | None = None


def useful(draft: Draft, command: Useful) -> None:
    """Vote for nodes; each id gets a line and a record of its own."""
    session = draft.require_session(command.session_id)
    votes: dict[tuple[str, str], dict[str, Any]] = {}
    verdicts = [_judge(draft, session, raw, command, votes) for raw in command.ids]
    if votes:
        seq = draft.emit("node_voted", votes=list(votes.values()))
        draft.say(f"Saved: {len(votes)} of {len(command.ids)} votes seq {seq}")
    else:
        draft.emit("session_active", session=session.id)
        unknown = all(verdict.reason == "not_found" for verdict in verdicts)
        draft.code = "not-found" if unknown else "not-allowed"
        draft.say(f"Error ({draft.code}): no vote was counted; each line says why. kg_search finds ids.")
    for verdict in verdicts:
        draft.say(_line(verdict))
    _guide(draft, session, len(votes))


def _line(verdict: _Verdict) -> str:
    if verdict.fault is not None:
        return f"  {verdict.fault}"
    if verdict.vote is not None and verdict.graph is not None:
        return f"  {verdict.graph.level}/{verdict.node_id}: counted"
    return f"  {verdict.node_id}: {_REASONS[verdict.reason]}"


def _judge(
    draft: Draft, session: Session, raw: str, command: Useful, votes: dict[tuple[str, str], dict[str, Any]]
) -> _Verdict:
    """Decide on one id; an accepted vote joins `votes`, and the log of votes gets its record either way."""
    try:
        node_id = clean_id(raw)
    except Refusal as refusal:
        verdict = _Verdict(quoted(raw), fault=refusal.text)
    else:
        found = draft.find(session, node_id, command.level)
        verdict = _Verdict(node_id) if found is None else _judged(draft, session, *found, command.credits, votes)
    if verdict.vote is None or verdict.graph is None or verdict.node is None:
        refused = {"session": session.id, "client_session": session.client_id, "project": session.project}
        draft.logs.append(("useful", {**refused, "id": verdict.node_id, "refused": verdict.reason}))
        return verdict
    votes[verdict.graph.key, verdict.node_id] = verdict.vote
    likes = VOTES_PER_SESSION - votes_left(session) + len(votes)
    record = vote_record(session, verdict.graph, verdict.node, via=verdict.vote["via"], likes=likes)
    if session.maintenance:
        record["credits"] = verdict.vote["stamps"]
    draft.logs.append(("useful", record))
    return verdict


def _judged(
    draft: Draft, session: Session, graph: Graph, node: Node, asked: int | None,
    votes: dict[tuple[str, str], dict[str, Any]],
) -> _Verdict:  # fmt: skip
    key = (graph.key, node.id)
    stamps = asked or 1
    if key in session.votes or key in votes:
        reason = "duplicate"
    elif session.maintenance:
        spent = session.credits + sum(vote["stamps"] for vote in votes.values())
        reason = "credits" if spent + stamps > CREDITS_PER_SESSION else ""
    elif asked is not None:
        reason = "credits"
    else:
        reason = "cap" if votes_left(session) <= len(votes) else ""
    if reason:
        return _Verdict(node.id, graph, node, reason=reason)
    vote: dict[str, Any] = {"graph": graph.key, "id": node.id, "session": session.id, "at": draft.now, "stamps": stamps}
    if session.maintenance:
        return _Verdict(node.id, graph, node, {**vote, "via": "maintenance", "maintenance": True})
    return _Verdict(node.id, graph, node, {**vote, "via": session.view(key).via})


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
        draft.mark_maintenance(session)
    stored = graph.progress.get(task)
    if command.state is None:
        draft.emit("session_active", session=session.id)
        draft.say("none" if stored is None else to_json(stored))
        return
    sent = {name: value for name, value in command.state.items() if name not in {"last", "trail"}}
    kept = _storable(sent)
    size = json_size(kept)
    if size > STATE_BYTES:
        raise refuse("bad-arguments", f"state has {size} bytes as JSON; at most {STATE_BYTES} are kept")
    trail = stored.get("trail") if stored else None
    entry = {**{name: _clipped(value) for name, value in kept.items()}, "at": draft.now}
    state = {**kept, "last": draft.now, "trail": [*(trail if isinstance(trail, list) else []), entry][-TRAIL_ENTRIES:]}
    seq = draft.emit("progress_put", graph=graph.key, task=task, state=state, was=stored)
    draft.say(f"Saved: progress {task} seq {seq}")


def _storable(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON value
    """A state that every file and log line can hold: texts at the door, numbers and nesting within JSON's habits."""
    if depth > STATE_DEPTH:
        raise refuse("bad-arguments", f"state is nested deeper than {STATE_DEPTH} levels")
    match value:
        case str():
            return tidy(value)
        case dict():
            return {tidy(str(name)): _storable(item, depth + 1) for name, item in value.items()}
        case list() | tuple():
            return [_storable(item, depth + 1) for item in value]
        case bool() | None:
            return value
        case int() if abs(value) < 2**63:
            return value
        case float() if isfinite(value):
            return value
        case _:
            raise refuse("bad-arguments", "state holds a value that is no JSON value of at most 64 bits")


def _clipped(value: object) -> object:
    """A short copy for the trail."""
    match value:
        case str():
            return value[:TRAIL_TEXT_CHARS]
        case dict():
            return to_json(value)[:TRAIL_TEXT_CHARS]
        case list():
            return [to_json(item)[:TRAIL_TEXT_CHARS] if isinstance(item, list) else _clipped(item)
                    for item in value[:TRAIL_ITEMS]]  # fmt: skip
        case _:
            return value
