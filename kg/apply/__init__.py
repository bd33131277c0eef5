"""Applying events: the only function that changes the world.

`apply` is total and deterministic: the same events give the same world in any process, and none raises. It is what
normal work and the replay after a crash have in common. Each part of the world (a graph, or the table of sessions) is
changed only if it does not hold the event yet, so an event that touches two graphs repairs exactly the one that was
saved earlier. An applier therefore uses what its event says, never what another part happens to hold.
"""

from collections.abc import Callable, Mapping

from kg.apply import content, table
from kg.apply.content import CONTENT
from kg.apply.step import TABLE, Step
from kg.apply.table import forked_session, opened_session
from kg.events import Body, Event
from kg.limits import REQUESTS_KEPT
from kg.sessions import writer_session
from kg.world import World

__all__ = ["CONTENT", "TABLE", "apply", "forked_session", "opened_session"]

CALLS = frozenset(
    {
        "node_put", "node_renamed", "node_deleted", "edge_put", "edge_deleted", "progress_put", "node_voted",
        "session_active", "session_opened",
    }
)  # fmt: skip


def apply(world: World, event: Event) -> frozenset[str]:
    """Change the world by one event.

    Returns:
        Keys of the parts that changed and have to be saved: graph keys and `TABLE`.
    """
    step = Step(world, event)
    APPLIERS[event.kind](step, event.body)
    _count_call(step)
    request = event.body.get("request")
    if isinstance(request, str) and step.table():
        world.requests[request] = event.seq
        if len(world.requests) > REQUESTS_KEPT:
            world.requests.popitem(last=False)
    world.seq = max(world.seq, event.seq)
    return step.finish()


def _count_call(step: Step) -> None:
    if step.event.kind in CALLS and (session := step.session(writer_session(step.event.by))) is not None:
        session.ops += 1
        session.active = step.event.ts


def _batch(step: Step, body: Body) -> None:
    for sub in body["events"]:
        APPLIERS[sub["kind"]](step, sub)


APPLIERS: Mapping[str, Callable[[Step, Body], None]] = {
    "node_put": content.node_put,
    "node_renamed": content.node_renamed,
    "node_deleted": content.node_deleted,
    "edge_put": content.edge_put,
    "edge_deleted": content.edge_deleted,
    "edges_cleaned": content.edges_cleaned,
    "progress_put": content.progress_put,
    "tiers_moved": content.tiers_moved,
    "node_voted": content.node_voted,
    "session_opened": table.session_opened,
    "session_active": table.session_active,
    "session_attached": table.session_attached,
    "session_bound": table.session_bound,
    "session_forked": table.session_forked,
    "session_marked": table.session_marked,
    "session_expired": table.session_expired,
    "context_reset": table.context_reset,
    "delivery_acked": table.delivery_acked,
    "delivery_queued": table.delivery_queued,
    "delivery_dropped": table.delivery_dropped,
    "project_registered": table.project_registered,
    "project_moved": table.project_moved,
    "graph_adopted": table.graph_adopted,
    "checkpoint_written": table.checkpoint_written,
    "batch": _batch,
}
