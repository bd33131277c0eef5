"""The owner: the one holder of the state and the only writer of it.

`execute` is the whole way of a command: decide, apply, append to the journal, wait until it is durable, answer. The
first three run without an await in between, so each command is one step and the core needs no locks. Everything that
takes longer is elsewhere: the disk in the journal's thread, planning in the workers, checkpoints in slices.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kg.apply import apply
from kg.codec import event_line, to_json
from kg.commands import Answer, Caller, Command, Place, PromptSubmitted, Read, Search, SessionStarted
from kg.decide import Decision, decide
from kg.errors import CODES, NotSaved
from kg.events import Body, Event
from kg.job import decode_job, job_pieces, job_rows
from kg.limits import INDEX_SLICE, SESSION_ID_BYTES
from kg.scoring import explain
from kg.search import catch_up
from kg.upkeep import expired_sessions
from kg.world import World
from supervisor.clock import now_iso
from supervisor.files import Disk, append_log
from supervisor.journal import Journal
from supervisor.locations import Locator

log = logging.getLogger("kg.owner")

# Kinds whose loss in a crash costs a view or a count, never a write: their reply does not wait for the disk.
RIDE_ALONG = frozenset({"session_active", "delivery_acked", "delivery_dropped", "context_reset", "checkpoint_written"})
# Kinds that a caller asked for by name: its reply must not say "saved" before they are durable.
WRITES = frozenset(
    {"node_put", "node_renamed", "node_deleted", "edge_put", "edge_deleted", "progress_put", "node_voted"}
)
# Commands that may open a session and need an id for it.
OPENING = (Read, SessionStarted, PromptSubmitted)
# Kinds after which a level may be over its budget, or have room again.
PLANNED = frozenset({"node_put", "node_renamed", "node_deleted", "edge_put", "edge_deleted", "node_voted", "batch"})


class Owner:
    """Holds the world of one storage folder; implements `kg.ports.Memory`.

    Args:
        world: the loaded state.
        journal: opened for appending.
        root: the storage folder, for the logs of decisions.
        disk: where those are written.
        locator: resolves working folders to project roots.
    """

    def __init__(self, world: World, *, journal: Journal[Event], root: Path, disk: Disk, locator: Locator) -> None:
        self.world = world
        self._journal = journal
        self._root = root
        self._disk = disk
        self._locator = locator
        self.on_changed: list[Callable[[frozenset[str], int], None]] = []
        self.on_planned: Callable[[str], None] = lambda _key: None
        self.health_of: Callable[[], Mapping[str, object]] = dict

    # --- commands --------------------------------------------------------------------------------------------

    async def execute(self, command: Command, caller: Caller) -> Answer:
        """See kg.ports.Memory."""
        key = caller.request_key
        if key is not None and key in self.world.requests:
            return await self._repeated(self.world.requests[key])
        if isinstance(command, Search | PromptSubmitted):
            await self._index()
        fresh = self._fresh_id() if isinstance(command, OPENING) else ""
        decision = decide(self.world, command, caller, now=now_iso(), fresh=fresh)
        self._take(decision.events)
        answer = self._answer(decision)
        waits = [event for event in decision.events if event.kind not in RIDE_ALONG]
        if waits:
            try:
                await self._journal.synced(waits[-1].seq)
            except NotSaved as error:
                if any(event.kind in WRITES for event in waits):
                    return _not_saved(error)
        return answer

    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            self._append(event)

    def _append(self, event: Event) -> None:
        changed = apply(self.world, event)
        self._journal.append(event.seq, event_line(event))
        for listener in self.on_changed:
            listener(changed, event.seq)
        if event.kind in PLANNED:
            for key in changed:
                self.on_planned(key)

    def emit(self, kind: str, *, by: str = "kg", **body: Any) -> Event:  # noqa: ANN401 - JSON values
        """Apply an event of the service itself; nobody waits for it."""
        event = Event(self.world.seq + 1, now_iso(), kind, by, None, body)
        self._append(event)
        return event

    def emit_all(self, bodies: Sequence[Body], *, by: str = "kg") -> None:
        """Apply several changes as one event."""
        if bodies:
            self.emit("batch", by=by, events=list(bodies))

    def _answer(self, decision: Decision) -> Answer:
        for name, record in decision.logs:
            line = to_json({"ts": now_iso(), "seq": self.world.seq, **record}).encode()
            append_log(self._root, f"{name}.jsonl", line, disk=self._disk)
        delivery = None
        session = self.world.sessions.get(decision.session or "")
        if session is not None and (decision.effects or decision.part is not None):
            delivery = self.world.outbox.post(
                session.id, context=session.contexts, rendered_seq=self.world.seq, effects=decision.effects,
                part=decision.part,
            ).id  # fmt: skip
        return Answer(decision.text, decision.code is not None, decision.code, delivery, decision.notice)

    async def _repeated(self, seq: int) -> Answer:
        """A call that was received before, whose reply was lost: it is never executed twice."""
        try:
            await self._journal.synced(seq)
        except NotSaved as error:
            return _not_saved(error)
        return Answer(f"Saved: this call was received before and is stored as seq {seq}; its first reply was lost.")

    def _fresh_id(self) -> str:
        while (fresh := os.urandom(SESSION_ID_BYTES).hex()) in self.world.sessions:
            pass
        return fresh

    async def _index(self) -> None:
        """Let the index of every graph catch up, without holding up the loop."""
        for graph in list(self.world.graphs.values()):
            while not catch_up(graph, most=INDEX_SLICE):  # noqa: ASYNC110 - it works in slices, it waits for nobody
                await asyncio.sleep(0)

    # --- deliveries ------------------------------------------------------------------------------------------

    async def acknowledge(self, ids: Sequence[str]) -> Mapping[str, bool]:
        """See kg.ports.Memory."""
        return {delivery_id: self._acknowledge(delivery_id) for delivery_id in ids}

    def _acknowledge(self, delivery_id: str) -> bool:
        delivery = self.world.outbox.take(delivery_id)
        session = self.world.sessions.get(delivery.session) if delivery else None
        if delivery is None or session is None or delivery.context != session.contexts:
            return False
        body: Body = {
            "session": session.id, "context": delivery.context, "effects": [list(each) for each in delivery.effects],
        }  # fmt: skip
        if delivery.part is not None:
            body["part"] = delivery.part
        promoted = any(effect[0] == "promote" for effect in delivery.effects)
        event = self.emit("delivery_acked", by=session.writer, **body)
        if promoted:
            for key in {str(effect[1]) for effect in event.body["effects"] if effect[0] == "promote"}:
                self.on_planned(key)
        return True

    # --- everything else -------------------------------------------------------------------------------------

    async def locate(self, cwd: str, project_root: str | None) -> Place:
        """See kg.ports.Memory."""
        return await self._locator.locate(self.world, cwd, project_root)

    async def explain(self, graph_key: str, node_id: str) -> Mapping[str, object] | None:
        """See kg.ports.Memory."""
        graph = self.world.graphs.get(graph_key)
        if graph is None or node_id not in graph.nodes:
            return None
        pieces = []
        for piece in job_pieces(job_rows(graph, now=now_iso(), prune=None)):
            pieces.append(piece)
            await asyncio.sleep(0)
        found = await asyncio.to_thread(lambda: explain(decode_job(b"".join(pieces)), node_id))
        return asdict(found)

    def health(self) -> Mapping[str, object]:
        """See kg.ports.Memory."""
        return self.health_of()

    async def expire_sessions(self) -> None:
        """End the sessions that have been silent too long."""
        silent = expired_sessions(self.world, now=now_iso())
        if silent:
            self.emit("session_expired", sessions=silent)


def _not_saved(error: NotSaved) -> Answer:
    code = CODES["not-saved"]
    return Answer(f"{code.marker}{error} {code.way_out}", is_error=True, code="not-saved")
