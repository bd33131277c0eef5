"""Swaps: an archived node for an active one, when the view as a whole is better for it.

The two sides cannot be compared before the swap: as long as its neighbour is active, the archived one of a linked pair
looks better connected, and after the swap the other one does. So a swap is made, everything is scored again, and it
stays only if the summed score of the active nodes has risen by a margin. That sum is bounded, so swaps end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import nsmallest

from kg.limits import SWAP_FAILURES, SWAP_MARGIN, SWAPS_JUDGED, SWAPS_PER_ROUND
from kg.scoring import Pool, Standing
from kg.sizes import Table


@dataclass(frozen=True, slots=True)
class Swap:
    """Two nodes that change places."""

    entering: int
    leaving: int


# Whether a swap, which the table holds already, may stay; `before` is how things stood without it.
Judge = Callable[[Table, Pool, Standing, Swap], bool]


def rises(table: Table, pool: Pool, before: Standing, swap: Swap) -> bool:
    """The rule: the summed score of the active nodes is higher by the margin now that it has happened."""
    return pool.standing(table).total - before.total >= SWAP_MARGIN


class Swapping:
    """The swap rule over a run, which bounds how many swaps are judged.

    Args:
        table: the level; kept swaps are made on it.
        judge: decides whether a swap stays.
        budget: of the level, in characters; no swap leads above it.
        kept: told of each swap that stays.
    """

    __slots__ = ("_budget", "_judge", "_kept", "_table", "judged")

    def __init__(self, table: Table, *, judge: Judge, budget: int, kept: Callable[[Swap], None]) -> None:
        self._table = table
        self._judge = judge
        self._budget = budget
        self._kept = kept
        self.judged = 0

    @property
    def exhausted(self) -> bool:
        """Whether this run has judged as many swaps as a run may."""
        return self.judged >= SWAPS_JUDGED

    def round(self, pool: Pool) -> int:
        """Make the swaps of one round; gives their number."""
        for count in range(SWAPS_PER_ROUND):
            if not self._first_kept(pool):
                return count
        return SWAPS_PER_ROUND

    def _first_kept(self, pool: Pool) -> bool:
        active, archived = pool.of_tier(self._table, "active"), pool.of_tier(self._table, "archived")
        if not active or not archived:
            return False
        before = pool.standing(self._table)
        leaving = min(active, key=lambda number: (before.scores[number], number))
        for entering in nsmallest(SWAP_FAILURES, archived, key=lambda number: (-before.scores[number], number)):
            if self.exhausted:
                return False
            self.judged += 1
            if self._stays(pool, before, Swap(entering, leaving)):
                return True
        return False

    def _stays(self, pool: Pool, before: Standing, swap: Swap) -> bool:
        self._table.move(swap.leaving, "archived")
        self._table.move(swap.entering, "active")
        if self._table.size <= self._budget and self._judge(self._table, pool, before, swap):
            self._kept(swap)
            return True
        self._table.move(swap.entering, "archived")
        self._table.move(swap.leaving, "active")
        return False
