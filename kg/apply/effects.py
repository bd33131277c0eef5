"""What holds once a reply has arrived: the effects of an acknowledged delivery (see `kg.delivery`)."""

from collections.abc import Callable, Mapping
from typing import Any

from kg.apply.content import raise_neighbours
from kg.apply.step import Step

Effect = Any  # a JSON list, see kg.delivery


def _seen(step: Step, session_id: str, context: int, effect: Effect) -> None:
    _, key, node_id, seq, via = effect
    if (session := step.session(session_id)) is not None:
        session.views[key, node_id] = session.view((key, node_id)).seen(seq, via, context)


def _read(step: Step, session_id: str, context: int, effect: Effect) -> None:
    _, key, node_id, seq, via, stamp = effect
    if (session := step.session(session_id)) is not None:
        session.views[key, node_id] = session.view((key, node_id)).read_whole(seq, via, context)
    if stamp and (graph := step.graph(key)) and node_id in graph.nodes:
        graph.change_node(node_id, read=step.event.ts)


def _edge_seen(step: Step, session_id: str, context: int, effect: Effect) -> None:
    _, key, source, rel, target, seq = effect
    if (session := step.session(session_id)) is not None:
        at = (key, (source, rel, target))
        session.edge_views[at] = max(session.edge_views.get(at, 0), seq)


def _promote(step: Step, session_id: str, context: int, effect: Effect) -> None:
    """An archived node that was read comes back, and its orphaned neighbours come one step nearer."""
    _, key, node_id = effect
    if (session := step.session(session_id)) is not None:
        session.promoted.add((key, node_id))
    graph = step.graph(key)
    node = graph.nodes.get(node_id) if graph else None
    if graph is None or node is None or node.tier == "active":
        return
    graph.change_node(node_id, tier="active", used=step.event.ts, orphaned=None)
    raise_neighbours(graph, node_id)


def _full_read(step: Step, session_id: str, context: int, effect: Effect) -> None:
    if (session := step.session(session_id)) is not None:
        session.full_read_seq = max(session.full_read_seq or 0, effect[1])


def _preloaded(step: Step, session_id: str, context: int, effect: Effect) -> None:
    if (session := step.session(session_id)) is not None:
        session.preloaded.add((effect[1], effect[2]))


def _synced(step: Step, session_id: str, context: int, effect: Effect) -> None:
    if (session := step.session(session_id)) is not None:
        session.sync_seq = max(session.sync_seq, effect[1])


def _told(step: Step, session_id: str, context: int, effect: Effect) -> None:
    if (session := step.session(session_id)) is not None:
        session.news_seq = max(session.news_seq, effect[1])


EFFECTS: Mapping[str, Callable[[Step, str, int, Effect], None]] = {
    "seen": _seen,
    "read": _read,
    "edge": _edge_seen,
    "promote": _promote,
    "full_read": _full_read,
    "preloaded": _preloaded,
    "synced": _synced,
    "told": _told,
}
