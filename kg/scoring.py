"""What a node is worth to the view, compared with the others of its pool (spec/compaction.md section 2).

Three raw signals become percentiles, equal values sharing their average rank, and a weighted sum of them is the score.
Recency and usefulness do not change within a run; connectedness follows every move, so it alone is ranked again.

Usefulness is measured from the newest stamp of the graph, not from now: decay is one factor for all nodes, so leaving
it out changes no rank, and scores are the same to the last bit for every `now` that no stamp exceeds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import fsum
from typing import Literal

from kg.fresh import fresh_numbers, newest_first
from kg.graph import Tier
from kg.job import Job, JobNode
from kg.limits import CONNECTEDNESS_WEIGHT, DAY_S, RECENCY_WEIGHT, USEFUL_HALF_LIFE_DAYS, USEFULNESS_WEIGHT
from kg.sizes import Bounds, Table

LONE = 0.5  # percentile of a node that has nobody to be compared with
HALF_LIFE_S = USEFUL_HALF_LIFE_DAYS * DAY_S


@dataclass(frozen=True, slots=True)
class Signals:
    """The raw signals that a run does not change, by node number.

    Attributes:
        recency: seconds of the epoch of the last use, read or vote.
        usefulness: votes faded up to the newest stamp of the graph.
        faded: factor by which usefulness has faded between that stamp and now.
    """

    recency: Sequence[float]
    usefulness: Sequence[float]
    faded: float


@dataclass(frozen=True, slots=True)
class Standing:
    """Scores of a pool at one moment, and their sum over its active nodes."""

    scores: Mapping[int, float]
    total: float


class Pool:
    """Nodes that are scored together."""

    __slots__ = ("_fixed", "members")

    def __init__(self, signals: Signals, members: Iterable[int]) -> None:
        self.members = sorted(members)
        recency = percentiles(signals.recency[number] for number in self.members)
        usefulness = percentiles(signals.usefulness[number] for number in self.members)
        self._fixed = [
            RECENCY_WEIGHT * recency[signals.recency[number]]
            + USEFULNESS_WEIGHT * usefulness[signals.usefulness[number]]
            for number in self.members
        ]

    def standing(self, table: Table) -> Standing:
        """Scores with the tiers as they are."""
        connected = [table.connectedness(number) for number in self.members]
        ranks = percentiles(connected)
        scores = {
            number: fixed + CONNECTEDNESS_WEIGHT * ranks[value]
            for number, fixed, value in zip(self.members, self._fixed, connected, strict=True)
        }
        return Standing(scores, fsum(scores[number] for number in self.of_tier(table, "active")))

    def of_tier(self, table: Table, tier: Tier) -> list[int]:
        """Its nodes of this tier, in id order."""
        return [number for number in self.members if table.tiers[number] == tier]


def percentiles(values: Iterable[float]) -> dict[float, float]:
    """For each value its average rank among all of them, counted from 0, divided by their number less one."""
    counts = Counter(values)
    number = counts.total()
    if number == 1:
        return dict.fromkeys(counts, LONE)
    found: dict[float, float] = {}
    below = 0
    for value in sorted(counts):
        found[value] = (below + (counts[value] - 1) / 2) / (number - 1)
        below += counts[value]
    return found


def signals_of(job: Job) -> Signals:
    """The raw signals of a job's nodes. No time counts as later than `now`."""
    now = moment(job.now) or 0.0
    stamps = [sorted(min(at, now) for at in map(moment, node.useful) if at is not None) for node in job.nodes]
    newest = max((node_stamps[-1] for node_stamps in stamps if node_stamps), default=now)
    usefulness = [fsum(_faded(newest - at) for at in node_stamps) for node_stamps in stamps]
    recency = [_last(node, node_stamps, now) for node, node_stamps in zip(job.nodes, stamps, strict=True)]
    return Signals(recency, usefulness, _faded(now - newest))


def moment(text: str | None) -> float | None:
    """A stored time in seconds of the epoch, None when there is none; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _last(node: JobNode, stamps: Sequence[float], now: float) -> float:
    used = moment(node.used)
    times = [moment(node.created) if used is None else used, moment(node.read), *stamps[-1:]]
    return max((min(at, now) for at in times if at is not None), default=0.0)


def _faded(age_s: float) -> float:
    return float(0.5 ** (age_s / HALF_LIFE_S))


# --- explaining ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """One signal of one node: as it is, its percentile in the pool, and what it adds to the score."""

    raw: float
    percentile: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a node is where it is.

    Attributes:
        id: the node.
        tier: where it is.
        outside_pool: why it is not scored: fresh, locked or orphaned; None when it is.
        pool_size: nodes that are scored together, active and archived.
        recency: raw in seconds of the epoch. The three columns are None for a node outside the pool, as is the score.
        connectedness: raw is the larger of `weighted` and `floor`.
        usefulness: raw as of now.
        weighted: connectedness by the tiers of the neighbours.
        floor: connectedness by the number of edges.
        score: the sum of the contributions.
        rank: 1 is the best of the pool; ties by id.
    """

    id: str
    tier: Tier
    outside_pool: Literal["fresh", "locked", "orphaned"] | None
    pool_size: int
    weighted: float
    floor: float
    recency: Column | None = None
    connectedness: Column | None = None
    usefulness: Column | None = None
    score: float | None = None
    rank: int | None = None


def pool_of(job: Job, table: Table, signals: Signals, fresh: Iterable[int]) -> Pool:
    """Everything active or archived that competes: not fresh, not locked."""
    left_out = set(fresh)
    return Pool(
        signals,
        (
            number
            for number, node in enumerate(job.nodes)
            if table.tiers[number] != "orphaned" and not node.locked and number not in left_out
        ),
    )


def explain(job: Job, node_id: str) -> Explanation:
    """Say how a node is scored.

    Args:
        job: its graph.
        node_id: the node.

    Raises:
        KeyError: the job has no such node.
    """
    table, signals = Table(job), signals_of(job)
    numbers = {name: number for number, name in enumerate(table.ids)}
    number = numbers[node_id]
    fresh = fresh_numbers(table, newest_first(job.nodes), room=Bounds(job.budget).fresh)
    pool = pool_of(job, table, signals, fresh)
    node = job.nodes[number]
    weighted, floor = table.weighted(number), table.floors[number]
    if number not in set(pool.members):
        reason: Literal["fresh", "locked", "orphaned"] = (
            "orphaned" if node.tier == "orphaned" else "locked" if node.locked else "fresh"
        )
        return Explanation(node_id, node.tier, reason, len(pool.members), weighted, floor)
    scores = pool.standing(table).scores
    order = sorted(scores, key=lambda each: (-scores[each], each))
    usefulness = _column(signals.usefulness, pool, number, USEFULNESS_WEIGHT)
    return Explanation(
        node_id, node.tier, None, len(pool.members), weighted, floor,
        recency=_column(signals.recency, pool, number, RECENCY_WEIGHT),
        connectedness=_column([table.connectedness(each) for each in numbers.values()], pool, number,
                              CONNECTEDNESS_WEIGHT),
        usefulness=Column(usefulness.raw * signals.faded, usefulness.percentile, usefulness.contribution),
        score=scores[number], rank=order.index(number) + 1,
    )  # fmt: skip


def _column(values: Sequence[float], pool: Pool, number: int, weight: float) -> Column:
    percentile = percentiles(values[each] for each in pool.members)[values[number]]
    return Column(values[number], percentile, weight * percentile)
