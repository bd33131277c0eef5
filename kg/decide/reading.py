"""kg_read: who is asking, then what is shown.

Opening a session is one event; everything a read implies (seen, read, promoted) travels as effects of its delivery.
"""

from dataclasses import replace

from kg.apply import opened_session
from kg.commands import Place, Read
from kg.decide.draft import Draft
from kg.decide.projects import place_project
from kg.errors import Refusal, refuse
from kg.graph import Graph
from kg.limits import SESSION_QUOTE_CHARS
from kg.names import clean_id, clean_session_id
from kg.render import ANNOUNCE, full_read, maintain_read, node_block, session_line
from kg.sessions import Session
from kg.text import quoted

NOTHING_MORE = "Nothing more to read."
UNHOOKED = (
    "no hook of kg has run here yet, so nothing is loaded by itself; the person can trust kg's hooks with /hooks."
)


def read(draft: Draft, command: Read) -> None:
    """Resolve the session, then answer in the first mode that applies: more, ids, maintain, full read."""
    if command.more:
        _more(draft, command)
        return
    session, notes = _resolve(draft, command)
    if command.maintenance and not session.maintenance:
        session = draft.mark_maintenance(session)
    if session.id in draft.world.pending:
        draft.emit("delivery_dropped", session=session.id)
    if session.id in draft.world.sessions:
        draft.emit("session_active", session=session.id)
    if command.ids:
        _nodes(draft, session, command)
    elif command.level == "maintain":
        draft.text.extend(maintain_read(draft.readable("maintain")))
    else:
        _levels(draft, session, command)
    for note in notes:
        draft.say(f"Note: {note}")
    if not command.ids and command.level is None:
        if session.full_read_seq is None:
            draft.say(ANNOUNCE)
        draft.text.close(["full_read", draft.world.seq])
    draft.say_whose()
    draft.say(session_line(session.id))


def _more(draft: Draft, command: Read) -> None:
    if command.ids or command.level or command.maintenance or command.place or not command.session_id:
        raise refuse("bad-arguments", "more=true takes session_id and nothing else")
    session = draft.require_session(command.session_id)
    draft.emit("session_active", session=session.id)
    waiting = draft.world.pending.get(session.id)
    if waiting is None or waiting.context != session.contexts:
        draft.say(NOTHING_MORE)
        return
    draft.part = waiting.next
    draft.text.lines = waiting.texts[0].split("\n")
    draft.text.close(*waiting.effects[0])


# --- whose session -----------------------------------------------------------------------------------------------


def _resolve(draft: Draft, command: Read) -> tuple[Session, list[str]]:
    session_id = clean_session_id(command.session_id) if command.session_id else None
    known = draft.world.sessions.get(session_id) if session_id else None
    if known is not None:
        draft.session = known
        session, notes = _attach(draft, known, command.place) if command.place else (known, [])
        if session.usable:
            return session, notes
    if command.session_id and command.place is None:
        raise refuse(
            "unknown-session",
            f'"{quoted(command.session_id, SESSION_QUOTE_CHARS)}" is no live session; send cwd with it',
        )
    return _open(draft, command, replaces=command.session_id)


def _attach(draft: Draft, session: Session, place: Place) -> tuple[Session, list[str]]:
    """A cwd that came with a known session: it attaches a project once and never re-binds."""
    if session.project is None:
        if place.root is None:
            return session, [place.note] if place.note else []
        slug = place_project(draft, place)
        draft.emit("session_attached", session=session.id, project=slug)
        draft.session = replace(session, project=slug, scope="project")
        return draft.session, [f"project {slug} is attached to this session."]
    root = draft.world.projects[session.project].root
    if place.root is not None and f"{place.root}/".startswith(f"{root.rstrip('/')}/"):
        return session, []
    return session, [
        "cwd was ignored: this session belongs to another folder; kg_read(cwd=...) without session_id opens one for it."
    ]


def _open(draft: Draft, command: Read, *, replaces: str | None) -> tuple[Session, list[str]]:
    place, caller = command.place, draft.caller
    notes = [place.note] if place is not None and place.note else []
    slug = place_project(draft, place) if place is not None and place.root is not None else None
    unhooked = caller.harness == "codex" and slug is not None and not _hooked(draft, slug)
    session = open_session(draft, slug=slug, maintenance=command.maintenance)
    if replaces:
        notes.append(f'session "{quoted(replaces, SESSION_QUOTE_CHARS)}" is unknown here; {session.id} replaces it.')
    if unhooked:
        notes.append(UNHOOKED)
    if slug is None:
        notes.append("this session has the user graph only; kg_read(session_id=..., cwd=...) attaches a project.")
    return session, notes


def _hooked(draft: Draft, slug: str) -> bool:
    """Whether a hook of this client ever delivered a preload to a live session of this project."""
    harness = draft.caller.harness
    return any(
        session.preloads and session.harness == harness and session.project == slug
        for session in draft.world.sessions.values()
    )


def open_session(draft: Draft, *, slug: str | None, maintenance: bool = False, hook: bool = False) -> Session:
    """Propose a new session for this caller; it is the draft's from here on.

    A hook's session belongs to its conversation. One that kg_read opens does only if that conversation has none yet: a
    subagent that asks without an id must not take its parent's place.
    """
    caller, client = draft.caller, draft.client_id
    body: dict[str, object] = {
        "session": draft.fresh, "harness": caller.harness, "scope": "project" if slug else "user",
    }  # fmt: skip
    if client is not None and (hook or draft.world.clients.get((caller.harness, client)) is None):
        body["client_id"] = client
    if maintenance:
        body["maintenance"] = True
    if hook:
        body["preloads"] = 1
    draft.session = Session(draft.fresh, draft.now, draft.now, 0, project=slug)
    draft.emit("session_opened", **body)
    session = opened_session(draft.events[-1])
    draft.session = session
    return session


# --- what is shown -----------------------------------------------------------------------------------------------


def _nodes(draft: Draft, session: Session, command: Read) -> None:
    """Each node in full, in the order asked; an id that is none or names nothing gets a line of its own."""
    quiet = session.maintenance
    wanted = list(dict.fromkeys(map(_clean, command.ids)))
    found = 0
    for number, (node_id, fault) in enumerate(wanted):
        if number:
            draft.say("")
        hit = draft.find(session, node_id, command.level) if fault is None else None
        if hit is None:
            draft.say(fault or f"NOT FOUND: {node_id}; kg_search finds nodes by their words")
            continue
        found += 1
        draft.text.extend(node_block(draft.world, *hit, promote=not quiet, via="read", stamp=not quiet))
    if not found:
        draft.code = "not-found" if any(fault is None for _, fault in wanted) else "bad-id"
    draft.say("")


def _clean(raw: str) -> tuple[str, str | None]:
    """The id, or why it is none."""
    try:
        return clean_id(raw), None
    except Refusal as refusal:
        return "", refusal.text


def _levels(draft: Draft, session: Session, command: Read) -> None:
    graphs: list[Graph]
    if command.level:
        graphs = [draft.graph_of(session, command.level)]
    else:
        graphs = [draft.readable("user")]
        own = session.graph_key("project")
        if own and own in draft.world.unreadable:
            draft.say(f"Note: the project graph cannot be read: {draft.world.unreadable[own]}")
        elif own:
            graphs.append(draft.world.graph(own))
    draft.text.extend(full_read(graphs, session))
