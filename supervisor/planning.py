"""Compaction in the background: ask a worker for a plan, check it, apply what still holds (design.md section 5).

At most one plan per graph is under way. A graph that changes meanwhile gets another run afterwards, not a second plan
beside it. The owner's loop writes the job in slices and applies the result in steps of a few milliseconds; planning
itself happens in a worker. A graph on which nothing could move, because all of it is in view and within the budget, is
planned on the tick only, for its scores.

The pause between two plans of a graph grows with what the last one took, so that planning never takes more than a small
part of one core, however busily a large graph is written.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from kg.admission import Admission, Admitting
from kg.body import section_of, written
from kg.compaction import overdue
from kg.graph import Graph
from kg.job import job_pieces, job_rows
from kg.limits import (
    COMPACTION_PAUSE_S,
    LEVEL_BUDGET_CHARS,
    MEASURED_NODES_MOST,
    PLAN_LIMIT_S,
    PLAN_SHARE,
    PLAN_SLOW_LIMIT_S,
)
from kg.lines import charge
from kg.proposal import Proposal, ProposalInvalid, decode_proposal
from supervisor.clock import now_iso
from supervisor.owner import Owner
from supervisor.pool import JobFailed, Pool

log = logging.getLogger("kg.planning")

KIND = "compaction"


@dataclass(slots=True)
class _Graph:
    """What is known of a graph's plans. Times are monotonic seconds; `planned_seq` is the seq after the last run."""

    wanted: bool = False
    prune: bool = False
    running: asyncio.Task[None] | None = None
    planned_seq: int = -1
    rest_until_s: float = 0.0
    slow: bool = False
    stalled: bool = False
    failed: str | None = None
    runs: int = 0


class Planning:
    """Plans the graphs of one owner.

    Args:
        owner: whose state is planned.
        pool: where planning happens.
        grace_days: after which orphans are deleted; 0 or below: never.
    """

    def __init__(self, owner: Owner, *, pool: Pool, grace_days: int) -> None:
        self._owner = owner
        self._pool = pool
        self._grace_days = grace_days
        self._graphs: dict[str, _Graph] = {}
        self._applying = False
        self._closing = False

    # --- asking ----------------------------------------------------------------------------------------------

    def ask(self, key: str) -> None:
        """A graph has changed: plan it soon, if a plan could move anything."""
        graph = self._owner.world.graphs.get(key)
        if graph is None or self._applying or self._closing:
            return
        if graph.size > LEVEL_BUDGET_CHARS or graph.counts["archived"]:
            self._want(key)

    async def tick(self) -> None:
        """Plan every graph that has changed since its last run, or has orphans whose grace is over."""
        now = now_iso()
        for key, graph in list(self._owner.world.graphs.items()):
            state = self._graphs.setdefault(key, _Graph(planned_seq=0 if not graph.nodes else -1))
            due = graph.counts["orphaned"] > 0 and self._has_overdue(graph, now)
            if graph.seq != state.planned_seq or due:
                self._want(key, prune=due)

    def _has_overdue(self, graph: Graph, now: str) -> bool:
        days = self._grace_days if self._grace_days > 0 else None
        return any(
            overdue(node.orphaned, now=now, grace_days=days) for node in graph.nodes.values() if node.tier == "orphaned"
        )

    def _want(self, key: str, *, prune: bool = False) -> None:
        if key in self._owner.world.unreadable or self._closing:
            return
        state = self._graphs.setdefault(key, _Graph())
        state.wanted = True
        state.prune |= prune
        if state.running is None:
            state.running = asyncio.get_running_loop().create_task(self._work(key, state))

    async def close(self) -> None:
        """Take no more wishes; a plan under way is dropped when the pool closes."""
        self._closing = True
        tasks = [state.running for state in self._graphs.values() if state.running is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- one run ---------------------------------------------------------------------------------------------

    async def _work(self, key: str, state: _Graph) -> None:
        try:
            while state.wanted:
                await asyncio.sleep(max(0.0, state.rest_until_s - time.monotonic()))
                state.wanted = False
                began = time.monotonic()
                await self._run(key, state)
                took = time.monotonic() - began
                rest_s = took if state.failed else took * PLAN_SHARE  # a failed plan is tried again sooner
                state.rest_until_s = time.monotonic() + max(COMPACTION_PAUSE_S, rest_s)
        finally:
            state.running = None

    async def _run(self, key: str, state: _Graph) -> None:
        graph = self._owner.world.graph(key)
        prune, state.prune = (self._grace_days if state.prune else None), False
        seq, pieces = graph.seq, []
        for piece in job_pieces(job_rows(graph, now=now_iso(), prune=prune)):
            pieces.append(piece)
            await asyncio.sleep(0)
        limit_s = PLAN_SLOW_LIMIT_S if state.slow else PLAN_LIMIT_S
        state.planned_seq = seq
        state.runs += 1
        try:
            data = await self._pool.run(KIND, b"".join(pieces), subject=key, version=seq, limit_s=limit_s)
            proposal = await asyncio.to_thread(decode_proposal, data)
        except JobFailed as error:
            if error.reason == "limit" and not state.slow:
                state.slow, state.planned_seq = True, -1  # the next tick tries again, with more time
            self._failed(key, state, str(error))
            return
        except ProposalInvalid as error:
            self._failed(key, state, f"a worker's proposal was refused: {error}")
            return
        state.failed, state.slow = None, False
        await self._apply(key, graph, state, proposal, grace_days=prune)

    def _failed(self, key: str, state: _Graph, cause: str) -> None:
        if not self._closing:
            log.warning("the plan of %s was dropped: %s", key, cause)
            state.failed = cause

    async def _apply(
        self, key: str, graph: Graph, state: _Graph, proposal: Proposal, *, grace_days: int | None
    ) -> None:
        self._note_stall(key, state, stalled=proposal.stalled)
        admitting = Admitting(proposal, key=key, grace_days=grace_days)
        again, more = False, True
        while more:
            admission = admitting.step(self._owner.world, now=now_iso())
            if admission.refused is not None:
                self._failed(key, state, f"the proposal was refused: {admission.refused}")
                return
            before = graph.seq
            self._emit(admission)
            self._measure(key, graph, state, admission)
            again |= bool(admission.dropped)
            if state.planned_seq == before:
                state.planned_seq = graph.seq
            more = admission.more
            await asyncio.sleep(0)
        graph.scores = proposal.scores
        if again:
            self._want(key)

    def _emit(self, admission: Admission) -> None:
        """Apply what was kept as one event; it asks for no plan by itself."""
        self._applying = True
        try:
            if len(admission.bodies) == 1:
                body = dict(admission.bodies[0])
                self._owner.emit(str(body.pop("kind")), **body)
            else:
                self._owner.emit_all(admission.bodies)
        finally:
            self._applying = False

    def _measure(self, key: str, graph: Graph, state: _Graph, admission: Admission) -> None:
        """Compare the size that was planned with the one that is kept, and at the end with the real lines."""
        rendered = graph.size
        if not admission.more and graph.counts["active"] <= MEASURED_NODES_MOST:
            rendered = sum(map(charge, written(section_of(graph), via="full_read").lines))
        if admission.bodies and not rendered == graph.size == admission.size:
            self._failed(key, state, f"sizes differ: planned {admission.size}, kept {graph.size}, rendered {rendered}")

    def _note_stall(self, key: str, state: _Graph, *, stalled: bool) -> None:
        if stalled and not state.stalled:
            log.info("%s stays above its budget: everything in view is fresh or locked", key)
        state.stalled = stalled

    # --- telling ---------------------------------------------------------------------------------------------

    def status(self) -> list[Mapping[str, object]]:
        """Per graph: plans so far, whether one is under way, whether the level is stuck above its budget."""
        return [
            {
                "graph": key, "runs": state.runs, "running": state.running is not None, "stalled": state.stalled,
                "failed": state.failed,
            }
            for key, state in sorted(self._graphs.items())
            if state.runs
        ]  # fmt: skip

    def problems(self) -> list[str]:
        """A sentence per graph whose last plan failed."""
        return [
            f"{key} could not be planned: {state.failed}. Nothing of it was applied; its next change tries again."
            for key, state in sorted(self._graphs.items())
            if state.failed is not None
        ]
