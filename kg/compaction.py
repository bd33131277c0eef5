"""The plan of a run: what of one graph is in view, archived, orphaned, deleted (spec/compaction.md section 4).

A run goes through rounds of archive, resurrect, refill, rebalance and orphan until a round changes nothing. It works on
a `Table`, where each step costs O(degree), keeps a trail of its steps, and gives the net moves: a node that was
archived and came back in the same run has not moved.

Why it ends, and a second run finds nothing to do: archiving happens above the budget only, where refill and swaps never
lead; a refill adds an active node, a swap keeps their number and raises the summed score by a margin, orphaning takes
archived nodes away. No sequence of these returns to where it was.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kg.clock import seconds_since
from kg.fresh import fresh_numbers, newest_first
from kg.graph import Tier
from kg.job import Job, JobNode
from kg.limits import DAY_S, PLAN_ROUNDS
from kg.proposal import Move, Proposal, Rests, Why
from kg.scoring import Pool, pool_of, signals_of
from kg.sizes import Bounds, Table
from kg.swaps import Judge, Swap, Swapping, rises


@dataclass(frozen=True, slots=True)
class Rules:
    """The two rules that a run stands on; tests put others in their place to see them fail.

    Attributes:
        judge: whether a swap stays.
        rounds: how many rounds a run has at most.
    """

    judge: Judge = rises
    rounds: int = PLAN_ROUNDS


RULES = Rules()


@dataclass(frozen=True, slots=True)
class Step:
    """What a run did at once: a move, or the two of a swap. `size` is that of the level afterwards."""

    moves: Mapping[int, Tier]
    why: Why
    size: int


def plan(job: Job, *, rules: Rules = RULES) -> Proposal:
    """Plan a run. The same job gives the same proposal, whatever the order of its rows was."""
    run = Run(job, rules=rules)
    while run.rounds < rules.rounds and run.round():
        pass
    return run.proposal()


class Run:
    """A run under way.

    Attributes:
        table: the level as it is now.
        trail: every step so far.
        rounds: how many have been made.
    """

    __slots__ = (
        "_bounds",
        "_fresh",
        "_job",
        "_locked",
        "_newest",
        "_pool",
        "_signals",
        "_swapping",
        "rounds",
        "table",
        "trail",
    )

    def __init__(self, job: Job, *, rules: Rules = RULES) -> None:
        self.table = Table(job)
        self.trail: list[Step] = []
        self.rounds = 0
        self._job = job
        self._bounds = Bounds(job.budget)
        self._signals = signals_of(job)
        self._newest = newest_first(job.nodes)
        self._locked = [number for number, node in enumerate(job.nodes) if node.locked]
        self._fresh: list[int] = []
        self._pool: Pool | None = None
        self._swapping = Swapping(self.table, judge=rules.judge, budget=job.budget, kept=self._swapped)

    def round(self) -> bool:
        """Make one round. Gives whether another one makes sense."""
        self.rounds += 1
        self._begin()
        before = len(self.trail)
        archived = self._archive()
        if archived:
            self._swapping.round(self._together())
        refilled = self._refill()
        if not archived and not refilled:
            self._swapping.round(self._together())
        self._orphan()
        return len(self.trail) > before and not self._swapping.exhausted

    def proposal(self) -> Proposal:
        """The net moves of all rounds, and what is to be deleted."""
        self._begin()
        pool = self._together()
        scores = pool.standing(self.table).scores
        return Proposal(
            self._job.graph,
            self._job.base_seq,
            self._job.now,
            (*self._net_moves(), *self._prunes()),
            {self.table.ids[number]: scores[number] for number in pool.members},
            self.table.size,
            stalled=self.table.size > self._bounds.budget,
            rounds=self.rounds,
            judged=self._swapping.judged,
        )

    # --- the steps -------------------------------------------------------------------------------------------------

    def _archive(self) -> bool:
        """Above the budget: archive from the lowest score until the level is down to its ceiling."""
        table = self.table
        if table.size <= self._bounds.budget:
            return False
        active = self._together().of_tier(table, "active")
        scores = Pool(self._signals, active).standing(table).scores
        for number in sorted(active, key=lambda each: (scores[each], each)):
            if table.size <= self._bounds.ceiling:
                break
            self._move(number, "archived", "archive")
        return bool(active)

    def _refill(self) -> bool:
        """Promote what fits under the ceiling: everything at once if it can be, else from the highest score."""
        table, before = self.table, len(self.trail)
        if table.archived and table.all_active(most=self._bounds.ceiling):
            for number in list(table.of_tier("archived")):
                self._move(number, "active", "refill")
        while table.size < self._bounds.ceiling and (found := self._first_that_fits()) is not None:
            self._move(found, "active", "refill")
        return len(self.trail) > before

    def _first_that_fits(self) -> int | None:
        """The first archived node, in the order of their return, that the ceiling has room for."""
        room = self._bounds.ceiling - self.table.size
        return next((each for each in self._returning() if self.table.delta(each, "active") <= room), None)

    def _returning(self) -> Iterator[int]:
        """Archived nodes: a locked one should not be there at all; then the fresh, the newest first; then by score."""
        table = self.table
        if not table.archived:
            return
        yield from (each for each in self._locked if table.tiers[each] == "archived")
        yield from (each for each in self._fresh if table.tiers[each] == "archived")
        pool = self._together()
        scores = pool.standing(table).scores
        yield from sorted(pool.of_tier(table, "archived"), key=lambda each: (-scores[each], each))

    def _orphan(self) -> None:
        """While the ids of archived nodes take too much: orphan from the lowest score, fresh ones last."""
        table = self.table
        if table.anchors <= self._bounds.anchors:
            return
        pool = self._together()
        scores = pool.standing(table).scores
        candidates = sorted(pool.of_tier(table, "archived"), key=lambda each: (scores[each], each))
        candidates += [each for each in reversed(self._fresh) if table.tiers[each] == "archived"]
        for number in candidates:
            if table.anchors <= self._bounds.anchors:
                break
            self._move(number, "orphaned", "orphan")

    # --- inside ----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """See which nodes are fresh and which compete; orphaning changes both."""
        self._fresh = fresh_numbers(self.table, self._newest, room=self._bounds.fresh)
        self._pool = None

    def _together(self) -> Pool:
        """Active and archived nodes, scored together; the same pool until this round's orphaning."""
        if self._pool is None:
            self._pool = pool_of(self._job, self.table, self._signals, self._fresh)
        return self._pool

    def _move(self, number: int, to: Tier, why: Why) -> None:
        self.table.move(number, to)
        self.trail.append(Step({number: to}, why, self.table.size))

    def _swapped(self, swap: Swap) -> None:
        self.trail.append(Step({swap.leaving: "archived", swap.entering: "active"}, "swap", self.table.size))

    def _net_moves(self) -> Iterator[Move]:
        last: dict[int, Step] = {}
        for step in self.trail:
            for number in step.moves:
                last.pop(number, None)
                last[number] = step
        net = {number: step for number, step in last.items() if step.moves[number] != self._job.nodes[number].tier}
        for number, step in net.items():
            whole = all(net.get(each) is step for each in step.moves)
            yield self._net_move(number, step, whole=whole)

    def _net_move(self, number: int, step: Step, *, whole: bool) -> Move:
        """A move as it came out; half a swap counts as what it does."""
        node, to = self._job.nodes[number], step.moves[number]
        if step.why != "swap":
            return Move(node.id, to, step.why, _rests(node))
        if not whole:
            return Move(node.id, to, "refill" if to == "active" else "archive", _rests(node))
        partner = next(self.table.ids[each] for each in step.moves if each != number)
        return Move(node.id, to, "swap", _rests(node), partner)

    def _prunes(self) -> Iterator[Move]:
        """Nodes that were orphaned before this run, for longer than the grace."""
        for number, node in enumerate(self._job.nodes):
            if node.tier == "orphaned" == self.table.tiers[number] and overdue(
                node.orphaned, now=self._job.now, grace_days=self._job.grace_days
            ):
                yield Move(node.id, "pruned", "prune", _rests(node))


def overdue(orphaned: str | None, *, now: str, grace_days: int | None) -> bool:
    """Whether an orphan has had its grace. One without a time has not; 0 days or fewer mean for ever."""
    if orphaned is None or grace_days is None or grace_days <= 0:
        return False
    return seconds_since(orphaned, now) > grace_days * DAY_S


def _rests(node: JobNode) -> Rests:
    return Rests(node.created_seq, node.content_seq, node.tier, len(node.useful), node.read)
