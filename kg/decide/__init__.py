"""Deciding: what a command changes and what it answers.

`decide` reads the world and never changes it. It gives the events to apply, in the order of the log, and the reply with
its effects; a refusal is an answer, too. No clock, no chance: `now` and `fresh` (an unused session id) come from the
shell, so the same world, command and moment give the same decision.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kg import commands
from kg.decide.draft import Decision, Draft
from kg.decide.edges import delete_edge, put_edge
from kg.decide.moving import delete_node, rename_node
from kg.decide.news import sync
from kg.decide.reading import read
from kg.decide.searching import search
from kg.decide.starting import prompt_submitted, session_started
from kg.decide.voting import progress, useful
from kg.decide.writing import put_node
from kg.delivery import Part, Text, parts_of
from kg.errors import Refusal
from kg.graph import Edge, Graph, Node
from kg.harness import Harness, row_of
from kg.limits import PART_RESERVE_UNITS
from kg.render import edge_line, node_block
from kg.sessions import Session
from kg.world import World

__all__ = ["Decision", "decide"]

HANDLERS: Mapping[type, Callable[[Draft, Any], None]] = {
    commands.Read: read,
    commands.Search: search,
    commands.PutNode: put_node,
    commands.PutEdge: put_edge,
    commands.RenameNode: rename_node,
    commands.DeleteNode: delete_node,
    commands.DeleteEdge: delete_edge,
    commands.Useful: useful,
    commands.Sync: sync,
    commands.Progress: progress,
    commands.SessionStarted: session_started,
    commands.PromptSubmitted: prompt_submitted,
}


def decide(world: World, command: commands.Command, caller: commands.Caller, *, now: str, fresh: str) -> Decision:
    """Answer a command.

    Args:
        world: the state; it is only read.
        command: what is wanted.
        caller: who asks, which decides the unit and size of the reply.
        now: the time of the owner's clock, ISO 8601 UTC.
        fresh: 8 hex characters that no session has.
    """
    draft = Draft(world, caller, now, fresh)
    try:
        HANDLERS[type(command)](draft, command)
    except Refusal as refusal:
        return _refused(draft, refusal)
    return _finished(draft, code=draft.code)


def _refused(draft: Draft, refusal: Refusal) -> Decision:
    """A refusal changes nothing but the session's activity; what it shows counts as shown once it has arrived."""
    draft.events.clear()
    draft.text = Text()
    draft.part = None
    if draft.session is not None and draft.session.id in draft.world.sessions:
        draft.emit("session_active", session=draft.session.id)
    draft.say(refusal.text)
    match refusal.shown:
        case (Graph() as graph, Node() as node):
            draft.text.extend(node_block(draft.world, graph, node, promote=False, via="read", stamp=False))
        case (Graph() as graph, Edge() as edge):
            draft.say(edge_line(edge), ["edge", graph.key, *edge.key, edge.seq])
        case _:
            pass
    return _finished(draft, code=refusal.code)


def _finished(draft: Draft, *, code: str | None) -> Decision:
    """Cut the reply to the client's size; the parts behind the first are kept with the session."""
    session, number = draft.session, draft.part
    text, effects = str(draft.text), draft.text.all_effects()
    if session is not None and number is None and draft.caller.channel != "hook":
        row = row_of(draft.caller.harness)
        if row.part_measure(text) > row.part_limit:
            parts = _cut(draft, session.id, row)
            text, effects = parts[0].text, parts[0].effects
            number = (_queued(draft, session, parts), 0)
    session_id = session.id if session is not None else None
    return Decision(
        tuple(draft.events), text, effects, session_id, code, number, draft.notice, tuple(draft.logs)
    )  # fmt: skip


def _queued(draft: Draft, session: Session, parts: list[Part]) -> int:
    """Seq of the event that keeps the parts."""
    return draft.emit(
        "delivery_queued", session=session.id, context=session.contexts, rendered_seq=draft.world.seq,
        texts=[each.text for each in parts], effects=[[list(effect) for effect in each.effects] for each in parts],
    )  # fmt: skip


def _cut(draft: Draft, session_id: str, row: Harness) -> list[Part]:
    def footer(number: int, total: int) -> str:
        if number == total:
            return f"Part {number} of {total}."
        return f'Part {number} of {total}. Next: kg_read(session_id="{session_id}", more=true)'

    return parts_of(
        draft.text, limit=row.part_limit, measure=row.part_measure, footer=footer, reserve=PART_RESERVE_UNITS
    )
