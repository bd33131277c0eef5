"""Appliers of the table: sessions, parts of long replies, projects, files."""

from dataclasses import replace

from kg.apply.effects import EFFECTS
from kg.apply.step import Step
from kg.delivery import Parts
from kg.events import Body, Event
from kg.sessions import Session
from kg.world import Checkpoint, Project


def session_opened(step: Step, body: Body) -> None:
    """A session began."""
    if step.table():
        session = opened_session(step.event)
        step.world.sessions[session.id] = session
        _bind(step, session)


def opened_session(event: Event) -> Session:
    """The session that a `session_opened` event makes."""
    body = event.body
    return Session(
        id=body["session"], started=event.ts, active=event.ts, start_seq=event.seq, sync_seq=event.seq,
        news_seq=event.seq, harness=body["harness"], client_id=body.get("client_id"), project=event.project,
        scope=body["scope"], maintenance=bool(body.get("maintenance")), preloads=int(body.get("preloads", 0)),
    )  # fmt: skip


def session_forked(step: Step, body: Body) -> None:
    """A conversation that inherited its beginning got a session of its own."""
    parent = step.session(body["parent"])
    if parent is not None:
        session = forked_session(step.event, parent)
        step.world.sessions[session.id] = session
        _bind(step, session)


def forked_session(event: Event, parent: Session) -> Session:
    """The clone that a `session_forked` event makes: views, votes and marks of its parent, no deliveries."""
    body = event.body
    return replace(
        parent, id=body["session"], started=event.ts, active=event.ts, ops=0, harness=body["harness"],
        client_id=body.get("client_id"), forked_from=parent.id, views=dict(parent.views),
        edge_views=dict(parent.edge_views), preloaded=set(parent.preloaded), promoted=set(parent.promoted),
        votes=dict(parent.votes),
    )  # fmt: skip


def session_active(step: Step, body: Body) -> None:
    """Counted by every call; the event has no other effect."""


def session_attached(step: Step, body: Body) -> None:
    """A session got its project."""
    if (session := step.session(body["session"])) is not None:
        session.project = body["project"]
        session.scope = "project"


def session_bound(step: Step, body: Body) -> None:
    """A session belongs to a client's conversation."""
    if (session := step.session(body["session"])) is not None:
        _unbind(step, session)
        session.harness, session.client_id = body["harness"], body["client_id"]
        _bind(step, session)


def _bind(step: Step, session: Session) -> None:
    """A conversation has one session; the one that it had before is nobody's from here on."""
    if session.client_id:
        client = (session.harness, session.client_id)
        before = step.world.sessions.get(step.world.clients.get(client, ""))
        if before is not None and before is not session:
            before.client_id = None
        step.world.clients[client] = session.id


def _unbind(step: Step, session: Session) -> None:
    client = (session.harness, session.client_id or "")
    if step.world.clients.get(client) == session.id:
        del step.world.clients[client]


def session_marked(step: Step, body: Body) -> None:
    """A session tends the graph."""
    if (session := step.session(body["session"])) is not None:
        session.maintenance = True


def session_expired(step: Step, body: Body) -> None:
    """Sessions ended; what was under way to them goes without effect."""
    for session_id in body["sessions"]:
        session = step.session(session_id)
        if session is None:
            continue
        del step.world.sessions[session_id]
        step.world.pending.pop(session_id, None)
        step.world.outbox.drop_session(session_id)
        _unbind(step, session)


def context_reset(step: Step, body: Body) -> None:
    """The client compacted its context: nothing is in front of the model any more."""
    if (session := step.session(body["session"])) is not None:
        session.contexts += 1
        session.preloads += 1
        session.active = step.event.ts
        session.preloaded.clear()
        session.full_read_seq = None
        step.world.pending.pop(session.id, None)
        step.world.outbox.drop_session(session.id)


def delivery_acked(step: Step, body: Body) -> None:
    """A reply has arrived: its effects hold."""
    session_id, context = body["session"], body["context"]
    for effect in body["effects"]:
        EFFECTS[effect[0]](step, session_id, context, effect)
    if (part := body.get("part")) is not None and step.table():
        waiting = step.world.pending.get(session_id)
        if waiting is not None and (left := waiting.after(tuple(part))) is not None:
            step.world.pending[session_id] = left
        else:
            step.world.pending.pop(session_id, None)


def delivery_queued(step: Step, body: Body) -> None:
    """A long reply waits in parts."""
    if step.table():
        effects = tuple(tuple(tuple(effect) for effect in part) for part in body["effects"])
        step.world.pending[body["session"]] = Parts(
            body["session"], body["context"], body["rendered_seq"], tuple(body["texts"]), effects, step.event.seq
        )


def delivery_dropped(step: Step, body: Body) -> None:
    """The parts of a long reply went without effect."""
    if step.table():
        step.world.pending.pop(body["session"], None)


def graph_adopted(step: Step, body: Body) -> None:
    """Register a folder that was found; numbers from elsewhere must not run ahead of this log."""
    project_registered(step, body)
    if graph := step.graph(f"projects/{body['slug']}"):
        seq = step.event.seq
        for node in list(graph.nodes.values()):
            if max(node.content_seq, node.created_seq) > seq:
                low = min(node.content_seq, seq), min(node.created_seq, seq)
                graph.put_node(replace(node, content_seq=low[0], created_seq=low[1]))
        for edge in list(graph.edges.values()):
            if edge.seq > seq:
                graph.put_edge(replace(edge, seq=seq))


def project_registered(step: Step, body: Body) -> None:
    """A root has a graph."""
    if step.table():
        project = Project(body["slug"], body["root"], body.get("first_commit"))
        step.world.projects[project.slug] = project
        step.world.roots[project.root] = project.slug
    if graph := step.graph(f"projects/{body['slug']}"):
        graph.root = body["root"]


def project_moved(step: Step, body: Body) -> None:
    """A project lies elsewhere now."""
    slug, root, was = body["slug"], body["root"], body["was"]
    if step.table() and (project := step.world.projects.get(slug)) is not None:
        former = (*project.former_roots, was)
        step.world.projects[slug] = replace(project, root=root, former_roots=former)
        step.world.roots.pop(was, None)
        step.world.roots[root] = slug
    if graph := step.graph(f"projects/{slug}"):
        graph.root = root


def checkpoint_written(step: Step, body: Body) -> None:
    """A file holds a part as of a seq."""
    if step.table():
        step.world.files[body["graph"]] = Checkpoint(body["sha256"], body["holds"])
