"""Which nodes live sessions have in front of them (spec/sessions.md section 8)."""

from kg.clock import seconds_since
from kg.limits import HELD_S
from kg.sessions import NodeKey, Session
from kg.world import World


def held_by_others(world: World, asking: Session, key: NodeKey, now: str) -> bool:
    """Whether another session that was active lately has this node in its context."""
    return any(
        (session.in_context(key) or key in session.preloaded) and seconds_since(session.active, now) < HELD_S
        for session in world.sessions.values()
        if session.id != asking.id
    )
