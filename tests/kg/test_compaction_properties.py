"""What holds for every level: spec/compaction.md section 7, over seeded random levels.

KG_COMPACTION_GRAPHS sets how many levels each generator gives (the third one a quarter of it).
"""

import os
from collections import Counter

import pytest

from kg.body import section_of, written
from kg.compaction import RULES, Rules, Run, plan
from kg.fresh import fresh_ids
from kg.graph import Edge, Graph, Node, graph_of
from kg.job import Job, decode_job, encode_job, job_rows
from kg.limits import SWAP_MARGIN, SWAPS_JUDGED
from kg.proposal import decode_proposal, encode_proposal
from kg.sizes import Bounds
from tests.strategies.levels import GENERATORS, NOW, Level, day, dice, mixed

GRAPHS = int(os.environ.get("KG_COMPACTION_GRAPHS", "120"))
SHARES = {"mixed": 1, "fresh-heavy": 1, "anchor-heavy": 4}
STEPS = {
    "mixed": {"archive", "refill", "swap"},
    "fresh-heavy": {"archive", "refill", "swap"},
    "anchor-heavy": {"archive", "refill", "swap", "orphan"},
}  # what must have happened, or the levels test nothing
RUNS_MOST = 10  # until a level is at rest; more is a cycle
CARELESS_GRAPHS = 400  # among so many levels the careless rules are found out


def job_of(graph: Graph, budget: int, *, now: str = NOW) -> Job:
    return decode_job(encode_job(job_rows(graph, now=now, prune=None, budget=budget)))


def run_of(job: Job, rules: Rules = RULES) -> Run:
    run = Run(job, rules=rules)
    while run.rounds < rules.rounds and run.round():
        pass
    return run


def rendered(graph: Graph) -> int:
    return sum(len(line) + 1 for line in written(section_of(graph), via="full_read").lines)


def state_of(graph: Graph) -> tuple[str, ...]:
    return tuple(node.tier for _, node in sorted(graph.nodes.items()))


def move(graph: Graph, node_id: str, to: str, now: str = NOW) -> None:
    graph.change_node(node_id, tier=to, orphaned=now if to == "orphaned" else None)


def content_of(graph: Graph) -> list[tuple[object, ...]]:
    return [(node.id, node.gist, node.used, node.read, node.useful, node.locked, node.content_seq)
            for node in graph.nodes.values()]  # fmt: skip


class Cycle(AssertionError):  # noqa: N818 - named for what was found
    """A state came back while something still moved."""


class Replay:
    """Follows a run step by step on a real graph, looking at everything that must hold on the way."""

    def __init__(self, level: Level) -> None:
        self.graph, self.budget, self.bounds = level.graph, level.budget, Bounds(level.budget)
        self.seen = {state_of(self.graph)}
        self.content = content_of(self.graph)

    def follow(self, run: Run) -> None:
        for number, step in enumerate(run.trail):
            following = run.trail[number + 1].why if number + 1 < len(run.trail) else None
            fresh = fresh_ids(self.graph, room=self.bounds.fresh)
            for index, to in step.moves.items():
                node = self.graph.nodes[run.table.ids[index]]
                assert not (to == "archived" and (node.id in fresh or node.locked)), "a fresh or locked node went"
                assert (node.tier, to) != ("active", "orphaned")
                move(self.graph, node.id, to)
            assert step.size == self.graph.size == rendered(self.graph)
            if step.why == "refill" and following != "refill":
                assert step.size <= self.bounds.ceiling
            if step.why == "swap":
                assert step.size <= self.budget
            if step.why != "archive" or following != "archive":  # what archiving passes by, a swap may come back to
                self.note(f"step {number}, {step.why}")

    def note(self, where: str) -> None:
        if state_of(self.graph) in self.seen:
            raise Cycle(f"{where}: this state stood before")
        self.seen.add(state_of(self.graph))

    def at_rest(self) -> None:
        assert content_of(self.graph) == self.content
        check_at_rest(self.graph, self.budget)


def check_at_rest(graph: Graph, budget: int) -> None:
    bounds = Bounds(budget)
    fresh = fresh_ids(graph, room=bounds.fresh)
    active = [node for node in graph.nodes.values() if node.tier == "active"]
    assert graph.size <= budget or all(node.locked or node.id in fresh for node in active)
    assert sum(3 + len(node.id) for node in graph.nodes.values() if node.tier == "archived") <= bounds.anchors
    for node in graph.nodes.values():
        assert node.tier == "active" or not node.locked
        assert (node.tier == "orphaned") == (node.orphaned is not None)


def settle(level: Level, rules: Rules = RULES) -> Counter[str]:
    """Run until nothing changes; gives counts of what happened."""
    replay, counts = Replay(level), Counter[str]()
    for runs in range(RUNS_MOST):
        run = run_of(job_of(level.graph, level.budget), rules)
        proposal = run.proposal()
        assert proposal.size == run.table.size
        assert decode_proposal(encode_proposal(proposal)) == proposal
        replay.follow(run)
        if not run.trail:
            replay.at_rest()
            counts["runs that changed something, at most"] = runs
            return counts
        counts += Counter(step.why for step in run.trail)
        counts["rounds, at most"] = max(counts["rounds, at most"], proposal.rounds)
        counts["swaps, at most"] = sum(step.why == "swap" for step in run.trail)
        counts["judged, at most"] = max(counts["judged, at most"], proposal.judged)
        assert proposal.judged < SWAPS_JUDGED
    raise Cycle("it never comes to rest")


def merged(counts: list[Counter[str]]) -> dict[str, int]:
    names = sorted(set().union(*counts))
    return {name: (max if "at most" in name else sum)(count[name] for count in counts) for name in names}


# --- 1, 2, 3, 5, 6 ---------------------------------------------------------------------------------------------------


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("generator", GENERATORS)
def test_a_level_comes_to_rest_in_one_run_without_a_state_that_returns(generator, capsys):
    seeds = range(max(1, GRAPHS // SHARES[generator]))
    counts = merged([settle(GENERATORS[generator](seed)) for seed in seeds])
    assert counts["runs that changed something, at most"] == 1
    assert STEPS[generator] <= counts.keys()
    with capsys.disabled():
        if "KG_COMPACTION_GRAPHS" in os.environ:
            print(f"\n{generator}: {len(seeds)} levels, {counts}")


# --- 4 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generator", GENERATORS)
def test_the_plan_is_the_same_bytes_for_any_order_of_nodes_and_edges(generator):
    for seed in range(50):
        level, rng = GENERATORS[generator](seed), dice(f"order {seed}")
        header, *rows = job_rows(level.graph, now=NOW, prune=365, budget=level.budget)
        expected = encode_proposal(plan(decode_job(encode_job([header, *rows]))))
        for _ in range(3):
            rng.shuffle(rows)
            assert encode_proposal(plan(decode_job(encode_job([header, *rows])))) == expected


# --- 8: the tests find what they are for -----------------------------------------------------------------------------


def looks_better(table, pool, before, swap) -> bool:
    """The careless rule: compare the two as they stood before the swap."""
    return before.scores[swap.entering] - before.scores[swap.leaving] >= SWAP_MARGIN


def twins() -> Level:
    """p and q, linked both ways and equal in all else; the budget holds one of them, and none is fresh."""
    nodes = [
        Node("p", "g" * 200, used=day(1), created_seq=1, content_seq=1),
        Node("q", "g" * 200, used=day(1), created_seq=2, content_seq=2, tier="archived"),
    ]
    return Level(graph_of("user", nodes, [Edge("p", "is", "q"), Edge("q", "is", "p")]), 400)


def test_two_linked_nodes_of_which_the_budget_holds_one_stay_as_they_are():
    level = twins()
    before = state_of(level.graph)
    settle(level)
    assert state_of(level.graph) == before


def test_a_comparison_before_the_swap_would_exchange_them_for_ever():
    with pytest.raises(Cycle):
        settle(twins(), Rules(judge=looks_better))


def test_a_comparison_before_the_swap_is_found_out_among_random_levels():
    def look(seeds):
        for seed in seeds:
            settle(GENERATORS["fresh-heavy"](seed), Rules(judge=looks_better))

    with pytest.raises(Cycle):
        look(range(CARELESS_GRAPHS))


def test_one_pass_in_place_of_rounds_leaves_work_for_a_second_run():
    runs = [settle(mixed(seed), Rules(rounds=1))["runs that changed something, at most"] for seed in range(100)]
    assert max(runs) > 1


# --- 9 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generator", GENERATORS)
def test_time_alone_changes_no_plan(generator):
    for seed in range(30):
        level = GENERATORS[generator](seed)
        first = plan(job_of(level.graph, level.budget, now=day(401)))
        later = plan(job_of(level.graph, level.budget, now=day(4_000)))
        assert (later.moves, later.scores) == (first.moves, first.scores)
