"""kg_read: who is asking, then what is shown.

Opening a session is one event; everything a read implies (seen, read, promoted) travels as effects of its delivery.
"""

from kg.apply import opened_session
from kg.commands import Place, Read
from kg.decide.draft import Draft
from kg.decide.projects import place_project
from kg.errors import refuse
from kg.graph import Graph
from kg.names import clean_id, clean_session_id
from kg.render import ANNOUNCE, full_read, maintain_read, node_block, session_line
from kg.sessions import Session

NOTHING_MORE = "Nothing more to read."


def read(draft: Draft, command: Read) -> None:
    """Resolve the session, then answer in the first mode that applies: more, ids, maintain, full read."""
    if command.more:
        _more(draft, command)
        return
    session, notes = _resolve(draft, command)
    if command.maintenance and not session.maintenance:
        draft.emit("session_marked", session=session.id)
    if session.id in draft.world.pending:
        draft.emit("delivery_dropped", session=session.id)
    if not draft.events:
        draft.emit("session_active", session=session.id)
    quiet = session.maintenance or command.maintenance
    if command.ids:
        _nodes(draft, session, command, quiet=quiet)
    elif command.level == "maintain":
        draft.text.extend(maintain_read(draft.readable("maintain")))
    else:
        _levels(draft, session, command)
    for note in notes:
        draft.say(f"Note: {note}")
    if not command.ids and command.level is None and session.full_read_seq is None:
        draft.say(ANNOUNCE)
        draft.text.close(["full_read", draft.world.seq])
    elif not command.ids and command.level is None:
        draft.text.close(["full_read", draft.world.seq])
    draft.say(session_line(session.id))


def _more(draft: Draft, command: Read) -> None:
    if command.ids or command.level or command.maintenance or command.place:
        raise refuse("bad-arguments", "more=true takes session_id only")
    session = draft.require_session(command.session_id or "")
    draft.emit("session_active", session=session.id)
    waiting = draft.world.pending.get(session.id)
    if waiting is None or waiting.context != session.contexts:
        draft.say(NOTHING_MORE)
        return
    draft.part = waiting.first
    draft.text.lines = waiting.texts[0].split("\n")
    draft.text.close(*waiting.effects[0])


# --- whose session -----------------------------------------------------------------------------------------------


def _resolve(draft: Draft, command: Read) -> tuple[Session, list[str]]:
    session_id = clean_session_id(command.session_id) if command.session_id else None
    known = draft.world.sessions.get(session_id) if session_id else None
    if known is not None:
        draft.session = known
        notes = _attach(draft, known, command.place) if command.place else []
        if known.usable or draft.events:
            return known, notes
    if command.session_id and command.place is None:
        raise refuse("unknown-session", f"{command.session_id[:40]!r} is no live session; send cwd with it")
    return _open(draft, command, replaces=command.session_id)


def _attach(draft: Draft, session: Session, place: Place) -> list[str]:
    """A cwd that came with a known session: it attaches a project once and never re-binds."""
    if session.project is None:
        if place.root is None:
            return [place.note] if place.note else []
        slug = place_project(draft, place)
        draft.emit("session_attached", session=session.id, project=slug)
        session.project, session.scope = slug, "project"
        return [f"project {slug} is attached to this session."]
    root = draft.world.projects[session.project].root
    if place.root == root:
        return []
    return [
        "cwd was ignored: this session belongs to another folder; kg_read(cwd=...) without session_id opens one for it."
    ]


def _open(draft: Draft, command: Read, *, replaces: str | None) -> tuple[Session, list[str]]:
    place = command.place
    notes = [place.note] if place is not None and place.note else []
    slug = place_project(draft, place) if place is not None and place.root is not None else None
    session = open_session(draft, slug=slug, maintenance=command.maintenance)
    if replaces:
        notes.append(f"session {replaces[:40]} is unknown here; {session.id} replaces it.")
    if slug is None:
        notes.append("this session has the user graph only; kg_read(session_id=..., cwd=...) attaches a project.")
    return session, notes


def open_session(draft: Draft, *, slug: str | None, maintenance: bool = False) -> Session:
    """Propose a new session for this caller; it is the draft's from here on."""
    caller = draft.caller
    body = {"session": draft.fresh, "harness": caller.harness, "scope": "project" if slug else "user"}
    if caller.client_id:
        body["client_id"] = caller.client_id
    if maintenance:
        body["maintenance"] = True
    draft.session = Session(draft.fresh, draft.now, draft.now, 0, project=slug)
    draft.emit("session_opened", **body)
    session = opened_session(draft.events[-1])
    draft.session = session
    return session


# --- what is shown -----------------------------------------------------------------------------------------------


def _nodes(draft: Draft, session: Session, command: Read, *, quiet: bool) -> None:
    found = 0
    for number, raw in enumerate(dict.fromkeys(command.ids)):
        if number:
            draft.say("")
        node_id = clean_id(raw)
        hit = draft.find(session, node_id, command.level)
        if hit is None:
            draft.say(f"NOT FOUND: {node_id}; kg_search finds nodes by their words")
            continue
        found += 1
        draft.text.extend(node_block(draft.world, *hit, promote=not quiet, via="read", stamp=not quiet))
    if not found:
        raise refuse("not-found", f"none of {', '.join(map(clean_id, command.ids))} is a node of this session's graphs")
    draft.say("")


def _levels(draft: Draft, session: Session, command: Read) -> None:
    graphs: list[Graph]
    if command.level:
        graphs = [draft.graph_of(session, command.level)]
    else:
        graphs = [draft.readable("user")]
        own = session.graph_key("project")
        if own and own in draft.world.unreadable:
            draft.notice = None
            draft.say(f"Note: the project graph cannot be read: {draft.world.unreadable[own]}")
        elif own:
            graphs.append(draft.world.graph(own))
    draft.text.extend(full_read(graphs, session))
