"""Events: one line of the log each, and the table of their kinds.

An event is `{"seq": 1842, "ts": "...", "kind": "node_put", "by": "1a2b3c4d", "project": "app", ...}`: a header that all
share and a body whose fields the kind's row lists. Bodies are JSON values only, so what is in memory is what is on the
line. A field `request` on any of them is the idempotency key of the call that caused it.

A new kind is a row here and an applier in `kg.apply`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One change. `ts` is an ISO time for people; `seq` orders. `by` is the writer's name."""

    seq: int
    ts: str
    kind: str
    by: str
    project: str | None
    body: Body


# Fields that a body must have, with their types. Optional fields are read with .get and are listed in comments.
KINDS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    # content
    "node_put": {"graph": str, "id": str, "set": dict, "was": (dict, type(None))},  # view, credit, new
    "node_renamed": {"graph": str, "old": str, "new": str, "edges": dict},  # used
    "node_deleted": {"graph": str, "id": str, "was": dict, "edges": dict},
    "edge_put": {"graph": str, "edge": dict, "was": (dict, type(None))},  # credit
    "edge_deleted": {"graph": str, "edge": dict},
    "edges_cleaned": {"graph": str, "edges": list},
    "progress_put": {"graph": str, "task": str, "state": dict},
    "tiers_moved": {"graph": str, "moves": list},
    # votes
    "node_voted": {"votes": list},
    # sessions
    "session_opened": {"session": str, "harness": str, "scope": str},  # client_id, project
    "session_active": {"session": str},
    "session_attached": {"session": str, "project": str},
    "session_bound": {"session": str, "harness": str, "client_id": str},
    "session_forked": {"session": str, "parent": str, "harness": str},  # client_id
    "session_marked": {"session": str},
    "session_expired": {"sessions": list},
    "context_reset": {"session": str},
    "delivery_acked": {"session": str, "context": int, "effects": list},
    "delivery_queued": {"session": str, "context": int, "rendered_seq": int, "texts": list, "effects": list},
    "delivery_dropped": {"session": str},
    # projects, files
    "project_registered": {"slug": str, "root": str},  # first_commit
    "project_moved": {"slug": str, "root": str, "was": str},
    "graph_adopted": {"slug": str, "root": str},
    "checkpoint_written": {"graph": str, "holds": int, "sha256": str},
    # several changes as one
    "batch": {"events": list},
}


def encode(event: Event) -> Body:
    """The event as one flat JSON object."""
    head: Body = {"seq": event.seq, "ts": event.ts, "kind": event.kind, "by": event.by}
    if event.project is not None:
        head["project"] = event.project
    return {**head, **event.body}


def decode(line: Mapping[str, Any]) -> Event:
    """Build an event from a line of the log.

    Raises:
        ValueError: the header or a field of the body is missing or of the wrong type, or the kind is unknown.
    """
    body = dict(line)
    seq, ts, kind, by = (body.pop(name, None) for name in ("seq", "ts", "kind", "by"))
    project = body.pop("project", None) if kind not in PROJECT_IN_BODY else body.get("project")
    if type(seq) is not int or seq < 1:
        raise ValueError(f"seq is {seq!r}, not a positive whole number")
    if not isinstance(ts, str) or not isinstance(kind, str) or not isinstance(by, str):
        raise ValueError("ts, kind or by is missing or no text")
    check_body(kind, body)
    return Event(seq, ts, kind, by, project if isinstance(project, str) else None, body)


def check_body(kind: str, body: Mapping[str, Any]) -> None:
    """Refuse a body that its kind's row does not describe.

    Raises:
        ValueError: says which field of which kind.
    """
    fields = KINDS.get(kind)
    if fields is None:
        raise ValueError(f"kind {kind!r} is unknown; the line was written by a newer kg")
    for name, kinds in fields.items():
        if not isinstance(body.get(name), kinds):
            raise ValueError(f"{kind}: field {name!r} is missing or of the wrong type")
    if kind == "batch":
        for sub in body["events"]:
            if not isinstance(sub, dict) or sub.get("kind") == "batch":
                raise ValueError("batch: a sub-event is no object, or a batch itself")
            check_body(str(sub.get("kind")), sub)


PROJECT_IN_BODY = frozenset({"session_attached"})  # `project` is what the event is about, not only its header
