"""The steps of a run on small levels, and what bad input does."""

import pytest

from kg.compaction import Run, Step, overdue, plan
from kg.fresh import fresh_ids, fresh_numbers, newest_first
from kg.graph import Edge, Graph, Node, graph_of
from kg.job import Job, decode_job, encode_job, job_rows
from kg.proposal import Proposal
from kg.sizes import Bounds, Table, WhatIf
from tests.strategies.levels import GENERATORS, NOW, NOW_DAY, day, dice, mixed

LINE = 100  # characters of a node line of `node`, its break included


def node(node_id: str, number: int = 1, *, length: int = LINE, **fields: object) -> Node:
    """A node whose line has so many characters."""
    given = {"created": day(number), "used": day(number), "created_seq": number, "content_seq": number, **fields}
    return Node(node_id, "g" * (length - 5 - len(node_id)), **given)


def job_of(graph: Graph, budget: int, *, prune: int | None = None) -> Job:
    return decode_job(encode_job(job_rows(graph, now=NOW, prune=prune, budget=budget)))


def plan_of(graph: Graph, budget: int, *, prune: int | None = None) -> Proposal:
    return plan(job_of(graph, budget, prune=prune))


def moves(proposal: Proposal) -> list[tuple[str, str, str]]:
    return [(move.id, move.to, move.why) for move in proposal.moves]


def level(*nodes: Node, edges: tuple[Edge, ...] = ()) -> Graph:
    return graph_of("user", nodes, edges)


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generator", GENERATORS)
def test_every_move_has_the_size_that_the_graph_has_after_it(generator):
    for seed in range(60):
        graph, rng = GENERATORS[generator](seed).graph, dice(f"walk {seed}")
        table, what_if, ids = Table(job_of(graph, 1)), WhatIf(graph), sorted(graph.nodes)
        copy = graph_of(graph.key, graph.nodes.values(), graph.edges.values(), upper=graph.upper)
        assert table.size == what_if.size == graph.size
        for _ in range(20):
            number, tier = rng.randrange(len(ids)), rng.choice(("active", "archived", "orphaned"))
            expected = table.size + table.delta(number, tier)
            table.move(number, tier)
            what_if.move(ids[number], tier)
            copy.change_node(ids[number], tier=tier)
            assert expected == table.size == what_if.size == copy.size
            anchors = sum(3 + len(each.id) for each in copy.nodes.values() if each.tier == "archived")
            assert anchors == table.anchors == what_if.anchors


def test_a_table_after_any_moves_weighs_neighbours_as_one_made_anew():
    for seed in range(60):
        graph, rng = mixed(seed).graph, dice(f"weights {seed}")
        table, ids = Table(job_of(graph, 1)), sorted(graph.nodes)
        for _ in range(20):
            number, tier = rng.randrange(len(ids)), rng.choice(("active", "archived", "orphaned"))
            table.move(number, tier)
            graph.change_node(ids[number], tier=tier)
        anew = Table(job_of(graph, 1))
        assert (table.weights, table.floors, table.anchors) == (anew.weights, anew.floors, anew.anchors)


def test_a_thought_leaves_the_graph_as_it_is():
    graph = level(node("a"), node("b"), edges=(Edge("a", "r", "b"),))
    before = graph.size
    WhatIf(graph).move("a", "archived")
    assert (graph.size, graph.nodes["a"].tier) == (before, "active")


# --- fresh tier ------------------------------------------------------------------------------------------------------


def fresh_of(graph: Graph, room: int) -> list[str]:
    job = job_of(graph, 1)
    table = Table(job)
    found = [table.ids[number] for number in fresh_numbers(table, newest_first(job.nodes), room=room)]
    assert set(found) == fresh_ids(graph, room=room)
    return found


def test_the_newest_nodes_are_fresh_as_far_as_they_fit():
    graph = level(*(node(f"n{number}", number) for number in range(1, 6)))
    assert fresh_of(graph, 2 * LINE) == ["n5", "n4"]
    assert fresh_of(graph, 3 * LINE - 1) == ["n5", "n4"]
    assert fresh_of(graph, 3 * LINE) == ["n5", "n4", "n3"]


def test_the_first_that_does_not_fit_ends_the_tier_and_no_gap_is_filled():
    graph = level(node("old", 1, length=20), node("large", 2, length=500), node("new", 3))
    assert fresh_of(graph, 2 * LINE) == ["new"]
    assert fresh_of(level(node("old", 1, length=20), node("large", 2, length=500)), 2 * LINE) == []


def test_a_fresh_node_pays_for_the_citations_that_it_brings_in_and_each_edge_once():
    edge = Edge("n2", "r", "n1")
    graph = level(node("n1", 1), node("n2", 2), edges=(edge,))
    cited = len("    → r → n1\n")
    assert fresh_of(graph, 2 * LINE) == ["n2"]
    assert fresh_of(graph, 2 * LINE + cited) == ["n2", "n1"]
    graph.change_node("n1", tier="orphaned", orphaned=NOW)
    assert fresh_of(graph, LINE) == ["n2"]


def test_an_archived_neighbour_makes_no_node_fresh_and_none_stale():
    graph = level(node("short", 1), node("a-long-one", 2), edges=(Edge("a-long-one", "r", "short"),))
    for tier in ("active", "archived"):
        graph.change_node("a-long-one", tier=tier)
        for room in range(200, 240):
            graph.change_node("short", tier="active")
            before = fresh_of(graph, room)
            graph.change_node("short", tier="archived")
            assert fresh_of(graph, room) == before


def test_creation_counts_and_no_update_makes_a_node_fresh():
    graph = level(node("old", 1, content_seq=99, used=NOW), node("new", 2))
    assert fresh_of(graph, LINE) == ["new"]


def test_nodes_of_one_event_are_ordered_by_time_and_then_by_id():
    nodes = [node("a", 7, created=day(3)), node("b", 7, created=day(2)), node("c", 7, created=day(2))]
    assert fresh_of(level(*nodes), 3 * LINE) == ["a", "c", "b"]


def test_orphans_are_not_fresh():
    graph = level(node("n1", 1), node("n2", 2, tier="orphaned", orphaned=NOW))
    assert fresh_of(graph, LINE) == ["n1"]


@pytest.mark.parametrize("generator", GENERATORS)
def test_both_ways_to_the_fresh_tier_agree(generator):
    for seed in range(60):
        made = GENERATORS[generator](seed)
        for room in (0, 50, Bounds(made.budget).fresh, made.budget, 100_000):
            fresh_of(made.graph, room)


# --- steps -----------------------------------------------------------------------------------------------------------


def test_a_level_within_its_budget_is_left_alone():
    graph = level(node("a", 1), node("b", 2), edges=(Edge("a", "r", "b"),))
    assert plan_of(graph, graph.size).moves == ()


def test_above_the_budget_the_least_are_archived_down_to_the_ceiling():
    used = {1: 30, 2: 20, 3: 50, 4: 10, 5: 40}
    graph = level(*(node(f"n{number}", number, used=day(used.get(number, 60))) for number in range(1, 11)))
    proposal = plan_of(graph, 1_000)
    assert moves(proposal) == [(f"n{number}", "archived", "archive") for number in (4, 2, 1)]
    assert proposal.size == 8 + 7 * LINE + 62 + 3 * 5
    assert proposal.size <= Bounds(1_000).ceiling


def test_what_went_before_a_large_node_comes_back_in_the_same_run():
    nodes = [node(f"n{number}", number) for number in range(1, 6)]
    graph = level(*nodes, node("large", 2, length=500, used=day(1.5)), node("new", 7))
    proposal = plan_of(graph, 1_000)
    assert moves(proposal) == [("large", "archived", "archive")]
    graph.change_node("large", tier="archived")
    assert plan_of(graph, 1_000).moves == ()


def test_a_candidate_that_is_too_large_does_not_block_the_ones_behind_it():
    graph = level(
        node("n1", 1), node("large", 3, length=900, tier="archived"), node("small", 2, tier="archived"), node("n4", 4)
    )
    assert moves(plan_of(graph, 600)) == [("small", "active", "refill")]


def test_one_archived_node_comes_back_when_everything_fits_without_the_header():
    graph = level(*(node(f"n{number}", number) for number in range(1, 9)))
    graph.change_node("n1", tier="archived")
    budget = 1_010 + 1
    assert graph.size < 8 + 8 * LINE <= Bounds(budget).ceiling < graph.size + LINE
    assert moves(plan_of(graph, budget)) == [("n1", "active", "refill")]


def test_everything_comes_back_even_when_the_header_alone_puts_the_level_over_its_ceiling():
    graph = level(*(node(f"n{number}", number, length=20) for number in range(1, 9)))
    graph.change_node("n1", tier="archived")
    budget = (8 + 8 * 20) * 100 // 80
    assert graph.size > Bounds(budget).ceiling
    assert moves(plan_of(graph, budget)) == [("n1", "active", "refill")]


def test_the_hub_comes_back_before_its_satellites_and_lifts_them():
    loners = [node(f"loner-{number}", 50 + number, tier="archived") for number in range(6)]
    satellites = [node(f"moon-{number}", number + 2, tier="archived") for number in range(3)]
    graph = level(node("hub", 1, tier="archived"), *satellites, *loners, node("seed", 60),
                  edges=tuple(Edge(moon.id, "r", "hub") for moon in satellites))  # fmt: skip
    back = [node_id for node_id, to, why in moves(plan_of(graph, 1_130)) if (to, why) == ("active", "refill")]
    fresh = fresh_ids(graph, room=Bounds(1_130).fresh)
    scored = [node_id for node_id in back if node_id not in fresh]
    assert scored[0] == "hub"
    assert scored[1].startswith("moon")


def test_fresh_nodes_come_back_first_and_the_newest_of_them_before_all():
    graph = level(*(node(f"n{number}", number, tier="archived", useful=(day(1),)) for number in range(1, 6)),
                  node("n6", 6, tier="archived"), node("n7", 7, tier="archived"))  # fmt: skip
    back = [node_id for node_id, _, _ in moves(plan_of(graph, 700))]
    assert back[:2] == ["n7", "n6"]


def test_a_far_better_archived_node_changes_places_with_the_worst_active_one():
    nodes = [node(f"n{number}", number) for number in range(1, 8)]
    better = node("better", 3, tier="archived", used=day(300), useful=(day(299), day(300)))
    graph = level(*nodes, better)
    budget = graph.size * 100 // 80
    proposal = plan_of(graph, budget)
    assert moves(proposal) == [("n1", "archived", "swap"), ("better", "active", "swap")]
    assert [move.partner for move in proposal.moves] == ["better", "n1"]


def test_no_swap_happens_for_a_rise_below_the_margin():
    nodes = [node(f"n{number}", 2 * number) for number in range(1, 21)]
    slightly_better = node("better", 3, tier="archived")
    graph = level(*nodes, slightly_better)
    assert plan_of(graph, graph.size * 100 // 80).moves == ()


def test_a_better_node_that_is_too_large_leaves_its_place_to_the_next():
    nodes = [node(f"n{number}", number) for number in range(1, 8)]
    votes = (day(299), day(300))
    better = node("better", 3, tier="archived", used=day(300), useful=votes)
    too_large = node("too-large", 3, tier="archived", length=900, used=day(301), useful=(*votes, day(301)))
    graph = level(*nodes, better, too_large)
    proposal = plan_of(graph, graph.size * 100 // 80)
    assert moves(proposal) == [("n1", "archived", "swap"), ("better", "active", "swap")]


def test_half_a_swap_whose_other_half_went_on_counts_as_what_it_does():
    graph = level(node("a"), node("b"), node("c", tier="archived"), node("d", tier="archived"))
    run = Run(job_of(graph, 1_000))
    a, b, c, d = range(4)
    swaps = ({a: "archived", c: "active"}, {b: "archived", a: "active"}, {a: "archived", d: "active"})
    run.trail.extend(Step(swap, "swap", 0) for swap in swaps)
    for number, tier in enumerate(("archived", "archived", "active", "active")):
        run.table.move(number, tier)
    assert [(move.id, move.to, move.why, move.partner) for move in run.proposal().moves] == [
        ("c", "active", "refill", None),
        ("b", "archived", "archive", None),
        ("a", "archived", "swap", "d"),
        ("d", "active", "swap", "a"),
    ]


def test_no_swap_happens_for_a_tie():
    graph = level(node("a", 1), node("b", 1, tier="archived"), node("new", 9))
    assert plan_of(graph, graph.size * 100 // 80).moves == ()


def test_too_many_anchors_are_orphaned_from_the_lowest_score_and_fresh_ones_last():
    archived = [node(f"n{number}", number, tier="archived") for number in range(1, 10)]
    voted = node("voted", 1, tier="archived", useful=(day(399),), length=5_000)
    large = [node(each.id, each.created_seq, tier="archived", length=5_000) for each in archived]
    graph = level(*large, voted)
    proposal = plan_of(graph, 100)
    assert Bounds(100).anchors == 30
    assert moves(proposal) == [(f"n{number}", "orphaned", "orphan") for number in range(1, 6)]


def test_a_node_that_is_archived_and_orphaned_in_one_run_makes_one_move():
    graph = level(*(node(f"number-{number}", number) for number in range(100, 200)))
    proposal = plan_of(graph, 1_000)
    ways = {(move.source, move.to, move.why) for move in proposal.moves}
    assert ("active", "orphaned", "orphan") in ways
    assert len({move.id for move in proposal.moves}) == len(proposal.moves)


def test_locked_nodes_stay_and_a_locked_one_that_is_archived_comes_back():
    graph = level(*(node(f"n{number}", number, locked=number < 4) for number in range(1, 11)))
    assert {move.id for move in plan_of(graph, 1_000).moves}.isdisjoint({"n1", "n2", "n3"})
    graph = level(node("kept", 1, locked=True, tier="archived"), node("new", 2), node("old", 1, tier="archived"))
    assert moves(plan_of(graph, 380))[0] == ("kept", "active", "refill")


# --- pruning ---------------------------------------------------------------------------------------------------------


def orphans() -> Graph:
    return level(
        node("new", 9),
        node("over", 1, tier="orphaned", orphaned=day(NOW_DAY - 366)),
        node("within", 1, tier="orphaned", orphaned=day(NOW_DAY - 365)),
        node("timeless", 1, tier="orphaned"),
        node("strange", 1, tier="orphaned", orphaned="last year"),
        node("future", 1, tier="orphaned", orphaned=day(NOW_DAY + 5)),
    )


def test_only_orphans_past_their_grace_are_pruned_and_only_when_asked():
    assert moves(plan_of(orphans(), 9_000, prune=365)) == [("over", "pruned", "prune")]
    assert plan_of(orphans(), 9_000).moves == ()


@pytest.mark.parametrize("days", [0, -1])
def test_a_grace_of_no_days_is_for_ever(days):
    assert plan_of(orphans(), 9_000, prune=days).moves == ()
    assert not overdue(day(0), now=NOW, grace_days=days)


# --- bad input -------------------------------------------------------------------------------------------------------


def test_a_level_of_nothing_and_a_level_of_one_stay_as_they_are():
    empty = plan_of(level(), 1_000)
    assert (empty.moves, empty.size, empty.scores, empty.stalled) == ((), 0, {}, False)
    alone = plan_of(level(node("a", 1, length=400)), 1_000)
    assert (alone.moves, alone.scores) == ((), {"a": pytest.approx(0.5)})


def test_fresh_and_locked_nodes_alone_above_the_budget_are_a_stall():
    graph = level(*(node(f"n{number}", number, locked=True) for number in range(1, 9)))
    proposal = plan_of(graph, 500)
    assert (proposal.moves, proposal.stalled) == ((), True)
    assert not plan_of(graph, 5_000).stalled


def test_a_gist_larger_than_the_budget_is_archived_and_never_comes_back_by_itself():
    graph = level(node("huge", 1, length=2_000, useful=(NOW,), used=NOW), node("a", 2), node("b", 3))
    proposal = plan_of(graph, 1_000)
    assert moves(proposal) == [("huge", "archived", "archive")]
    graph.change_node("huge", tier="archived")
    assert plan_of(graph, 1_000).moves == ()


def test_self_edges_parallel_edges_and_edges_to_nothing_plan_like_any_others():
    edges = (Edge("n1", "r", "n1"), Edge("n1", "r", "n2"), Edge("n1", "s", "n2"), Edge("n1", "r", "nobody"),
             Edge("nobody", "r", "n2"), Edge("src/x.py", "r", "n1"), Edge("nobody", "r", "src/x.py"))  # fmt: skip
    graph = level(*(node(f"n{number}", number) for number in range(1, 11)), edges=edges)
    proposal = plan_of(graph, 1_000)
    for move in proposal.moves:
        graph.change_node(move.id, tier=move.to)
    assert proposal.moves
    assert graph.size == proposal.size


def test_times_that_are_missing_or_lie_ahead_hold_up_no_plan():
    graph = level(*(Node(f"n{number}", "g" * 90, used="2099-01-01T00:00:00Z", useful=("?", "2099-01-01"))
                    for number in range(10)))  # fmt: skip
    assert plan_of(graph, 600).size <= Bounds(600).ceiling
