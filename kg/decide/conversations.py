"""Which session a client's conversation has (spec/sessions.md sections 2 and 3).

A client's conversation is *bound* to at most one session. A conversation that inherited its beginning from another one
(a resume under a new id, a fork) gets a clone of the session that its transcript names: the one that it came from may
live on, and what is shown to one must not count as seen by the other. A known conversation that resolves to nothing
never borrows a session.
"""

from kg.apply import forked_session
from kg.commands import Place
from kg.decide.draft import Draft
from kg.names import clean_session_id
from kg.sessions import Session


def bound_session(draft: Draft) -> Session | None:
    """The live session of this conversation."""
    bound = draft.world.clients.get((draft.caller.harness, draft.client_id or ""))
    return draft.world.sessions.get(bound) if bound else None


def named_session(draft: Draft, transcript_session: str | None, place: Place | None) -> Session | None:
    """The live session that the transcript names, if it has the scope of this folder."""
    session_id = clean_session_id(transcript_session) if transcript_session else None
    session = draft.world.sessions.get(session_id) if session_id else None
    return session if session is not None and session.project == _slug(draft, place) else None


def newest_session(draft: Draft, place: Place | None) -> Session | None:
    """For a client that does not tell its conversations apart: the session that began last in this folder."""
    slug = _slug(draft, place)
    own = (each for each in draft.world.sessions.values() if each.project == slug is not None)
    return max(own, key=lambda session: session.start_seq, default=None)


def _slug(draft: Draft, place: Place | None) -> str | None:
    return draft.world.roots.get(place.root) if place is not None and place.root is not None else None


def bind(draft: Draft, session: Session) -> Session:
    """Give a session that is nobody's to this conversation."""
    draft.session = session
    draft.emit("session_bound", session=session.id, harness=draft.caller.harness, client_id=draft.client_id)
    return session


def clone(draft: Draft, parent: Session) -> Session:
    """Propose a session of its own for this conversation, with all that its parent was shown."""
    body: dict[str, object] = {"session": draft.fresh, "parent": parent.id, "harness": draft.caller.harness}
    if draft.client_id is not None:
        body["client_id"] = draft.client_id
    draft.session = parent
    draft.emit("session_forked", **body)
    draft.session = forked_session(draft.events[-1], parent)
    return draft.session
