"""sessions.json: everything that is no graph, as one document (spec/storage.md section 3)."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from kg.delivery import Parts
from kg.documents import Json
from kg.limits import FORMAT
from kg.sessions import Session, View
from kg.world import Checkpoint, Project, World

_TEXT, _OPTIONAL_TEXT, _OPTIONAL_SEQ = (str,), (str, type(None)), (int, type(None))
_PLAIN: Mapping[str, tuple[type, ...]] = {
    "started": _TEXT, "active": _TEXT, "start_seq": (int,), "harness": _TEXT, "client_id": _OPTIONAL_TEXT,
    "project": _OPTIONAL_TEXT, "scope": _TEXT, "maintenance": (bool,), "ops": (int,), "sync_seq": (int,),
    "news_seq": (int,), "full_read_seq": _OPTIONAL_SEQ, "contexts": (int,), "preloads": (int,), "credits": (int,),
    "forked_from": _OPTIONAL_TEXT,
}  # fmt: skip


def table_document(world: World, *, clean_seq: int) -> Json:
    """The table as JSON. `clean_seq`: every graph's file holds all of that graph's events up to it."""
    return {
        "meta": {"format": FORMAT, "seq": world.table_seq, "clean_seq": clean_seq},
        "projects": {slug: _project(project) for slug, project in sorted(world.projects.items())},
        "files": {key: {"sha256": at.sha256, "seq": at.seq} for key, at in sorted(world.files.items())},
        "requests": dict(world.requests),
        "sessions": {sid: _session(session) for sid, session in sorted(world.sessions.items())},
        "deliveries": {sid: _parts(parts) for sid, parts in sorted(world.pending.items())},
    }


def load_table(world: World, document: Any) -> None:  # noqa: ANN401 - JSON is any value
    """Fill an empty world's table.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the document has another shape.
    """
    if document["meta"]["format"] > FORMAT:
        raise ValueError("written by a newer kg, run kg update")
    projects = {slug: _project_from(slug, row) for slug, row in document["projects"].items()}
    sessions = {sid: _session_from(sid, row) for sid, row in document["sessions"].items()}
    files = {key: Checkpoint(str(row["sha256"]), int(row["seq"])) for key, row in document["files"].items()}
    pending = {sid: _parts_from(sid, row) for sid, row in document.get("deliveries", {}).items()}
    requests = OrderedDict((str(key), int(seq)) for key, seq in document.get("requests", {}).items())
    world.table_seq = int(document["meta"]["seq"])
    world.projects, world.sessions, world.files = projects, sessions, files
    world.pending, world.requests = pending, requests
    world.roots = {project.root: slug for slug, project in projects.items()}
    world.clients = {(one.harness, one.client_id): sid for sid, one in sessions.items() if one.client_id}


def _project(project: Project) -> Json:
    return {
        "root": project.root, "first_commit": project.first_commit, "former_roots": list(project.former_roots),
    }  # fmt: skip


def _project_from(slug: str, row: Json) -> Project:
    return Project(slug, str(row["root"]), row.get("first_commit"), tuple(row.get("former_roots", ())))


def _session(session: Session) -> Json:
    return {
        **{name: getattr(session, name) for name in _PLAIN},
        "views": {f"{graph}/{node}": _view(view) for (graph, node), view in sorted(session.views.items())},
        "edge_views": [[graph, *key, seq] for (graph, key), seq in sorted(session.edge_views.items())],
        "preloaded": [f"{graph}/{node}" for graph, node in sorted(session.preloaded)],
        "promoted": [f"{graph}/{node}" for graph, node in sorted(session.promoted)],
        "votes": {f"{graph}/{node}": count for (graph, node), count in sorted(session.votes.items())},
    }


def _session_from(session_id: str, row: Json) -> Session:
    return Session(
        id=session_id,
        **{name: _typed(row[name], *kinds) for name, kinds in _PLAIN.items()},
        views={_key(text): _view_from(view) for text, view in row["views"].items()},
        edge_views={(str(graph), (str(a), str(rel), str(b))): int(seq) for graph, a, rel, b, seq in row["edge_views"]},
        preloaded={_key(text) for text in row["preloaded"]},
        promoted={_key(text) for text in row["promoted"]},
        votes={_key(text): int(count) for text, count in row["votes"].items()},
    )


def _typed(value: Any, *kinds: type) -> Any:  # noqa: ANN401 - one of the kinds
    """The value, if it is of one of these types; a wrong one must not wait for the event that trips over it."""
    if type(value) not in kinds:
        raise TypeError(f"{value!r} is of the wrong type")
    return value


def _view_from(view: list[Any]) -> View:
    seen, read, via, context = view
    return View(_typed(seen, *_OPTIONAL_SEQ), _typed(read, *_OPTIONAL_SEQ), _typed(via, str), _typed(context, int))


def _key(text: str) -> tuple[str, str]:
    """`projects/app/node` -> (`projects/app`, `node`): an id holds no slash."""
    graph, _, node = text.rpartition("/")
    return graph, node


def _view(view: View) -> list[Any]:
    return [view.seen_seq, view.read_seq, view.via, view.context]


def _parts(parts: Parts) -> Json:
    return {
        "context": parts.context, "rendered_seq": parts.rendered_seq, "queued": parts.queued, "first": parts.first,
        "texts": list(parts.texts), "effects": [[list(effect) for effect in part] for part in parts.effects],
    }  # fmt: skip


def _parts_from(session_id: str, row: Json) -> Parts:
    effects = tuple(tuple(tuple(effect) for effect in part) for part in row["effects"])
    return Parts(
        session_id, row["context"], row["rendered_seq"], tuple(row["texts"]), effects, row["queued"], row["first"]
    )
