import pytest

from kg.graph import Edge, Graph, Node, graph_of
from kg.job import Job, decode_job, encode_job, job_rows
from kg.scoring import Pool, explain, moment, percentiles, signals_of
from kg.sizes import Table
from kg.swaps import rises
from tests.strategies.levels import GENERATORS, day, dice, mixed

AMPLE = 1_000_000
NO_FRESH = 3  # characters: too few for any node, so that nobody is fresh

NODES = (
    Node("a", "g", used=day(98)),
    Node("b", "g", used=day(60), useful=(day(7), day(97))),
    Node("c", "g", used=day(90), read=day(96)),
    Node("d", "g", used=day(95)),
    Node("e", "g", used=day(20), useful=(day(10),)),
    Node("f", "g", used=day(15)),
)
EDGES = (Edge("a", "r", "b"), Edge("c", "r", "b"), Edge("d", "r", "b"), Edge("b", "r", "e"), Edge("f", "r", "src/x.py"))


def job_of(graph: Graph, *, now: str = day(100), budget: int = NO_FRESH) -> Job:
    return decode_job(encode_job(job_rows(graph, now=now, prune=None, budget=budget)))


def example(**changes: dict[str, object]) -> Job:
    graph = graph_of("user", NODES, EDGES)
    for node_id, fields in changes.items():
        graph.change_node(node_id, **fields)
    return job_of(graph)


def scored(job: Job) -> dict[str, float]:
    table = Table(job)
    pool = Pool(signals_of(job), range(len(table.ids)))
    return {table.ids[number]: score for number, score in pool.standing(table).scores.items()}


def rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 9) for name, value in values.items()}


# --- the worked example ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node_id", "weighted", "floor", "connected", "useful", "percentages", "score"),
    [
        ("a", 0.3300, 0.3466, 0.3466, 0.0, (1.0, 0.3, 0.3), 0.475),
        ("b", 2.3100, 0.8047, 2.3100, 1.4657, (0.8, 1.0, 1.0), 0.950),
        ("c", 0.3300, 0.3466, 0.3466, 0.0, (0.6, 0.3, 0.3), 0.375),
        ("d", 0.3300, 0.3466, 0.3466, 0.0, (0.4, 0.3, 0.3), 0.325),
        ("e", 0.6600, 0.3466, 0.6600, 0.5000, (0.2, 0.8, 0.8), 0.650),
        ("f", 0.0000, 0.3466, 0.3466, 0.0, (0.0, 0.3, 0.3), 0.225),
    ],
)
def test_the_worked_example_comes_out_to_the_digit(node_id, weighted, floor, connected, useful, percentages, score):
    found = explain(example(), node_id)
    assert round(found.weighted, 4) == weighted
    assert round(found.floor, 4) == floor
    assert round(found.connectedness.raw, 4) == connected
    assert round(found.usefulness.raw, 4) == useful
    columns = (found.recency, found.connectedness, found.usefulness)
    assert tuple(round(column.percentile, 9) for column in columns) == percentages
    assert round(found.score, 9) == score
    assert found.score == pytest.approx(sum(column.contribution for column in columns))


def test_the_example_is_archived_from_f_over_d_to_b():
    scores = scored(example())
    assert sorted(scores, key=lambda node_id: (scores[node_id], node_id)) == ["f", "d", "c", "a", "e", "b"]


def test_archived_neighbours_count_a_fifth_and_change_no_rank_in_the_example():
    job = example(f={"tier": "archived"}, d={"tier": "archived"})
    table = Table(job)
    assert round(table.weighted(1), 9) == 1.782
    assert rounded(scored(job)) == rounded(scored(example()))
    total = Pool(signals_of(job), range(6)).standing(table).total
    assert round(total, 9) == 2.450


def test_the_swaps_of_the_example_are_judged_by_what_they_lead_to():
    votes = {"useful": (day(100), day(100))}
    job = example(f={"tier": "archived"}, d={"tier": "archived"} | votes)
    assert rounded(scored(job)) == {"a": 0.39, "b": 0.83, "c": 0.29, "d": 0.72, "e": 0.58, "f": 0.19}
    c, d, f = 2, 3, 5
    table, pool = Table(job), Pool(signals_of(job), range(6))
    before = pool.standing(table)
    assert round(before.total, 9) == 2.09
    for entering, total, kept in ((d, 2.52, True), (f, 1.99, False)):
        table.move(c, "archived")
        table.move(entering, "active")
        assert round(pool.standing(table).total, 9) == total
        assert rises(table, pool, before, None) is kept
        table.move(entering, "archived")
        table.move(c, "active")


def test_an_archived_twin_looks_better_only_until_it_is_swapped():
    twins = [Node("p", "g", used=day(1)), Node("q", "g", used=day(1), tier="archived")]
    graph = graph_of("user", twins, [Edge("p", "r", "q"), Edge("q", "r", "p")])
    job = job_of(graph)
    assert rounded(scored(job)) == {"p": 0.3, "q": 0.7}
    table, pool = Table(job), Pool(signals_of(job), range(2))
    before = pool.standing(table).total
    table.move(0, "archived")
    table.move(1, "active")
    assert pool.standing(table).total == before


# --- percentiles -----------------------------------------------------------------------------------------------------


def test_equal_values_share_their_average_rank():
    assert percentiles([5, 1, 5, 9]) == {1: 0.0, 5: 0.5, 9: 1.0}


def test_one_node_alone_has_the_middle_and_equal_values_all_have_it():
    assert percentiles([7.0]) == {7.0: 0.5}
    assert percentiles([0.0] * 9) == {0.0: 0.5}
    assert percentiles([]) == {}


# --- raw signals -----------------------------------------------------------------------------------------------------


def test_recency_is_the_latest_of_use_read_and_vote():
    for fields in ({"used": day(9)}, {"read": day(9)}, {"useful": (day(1), day(9))}):
        node = Node("a", "g", created=day(0), **{"used": day(3), **fields})
        assert signals_of(job_of(graph_of("user", [node], []))).recency == [moment(day(9))]


def test_a_node_that_was_never_used_counts_from_its_creation():
    signals = signals_of(job_of(graph_of("user", [Node("a", "g", created=day(5))], [])))
    assert signals.recency == [moment(day(5))]


def test_times_ahead_of_now_and_times_that_are_none_are_taken_as_age_zero_and_as_nothing():
    nodes = [
        Node("a", "g", used=day(9_000), useful=(day(9_000),)),
        Node("b", "g", used=day(100), useful=(day(100),)),
        Node("c", "g", used="yesterday", created="", useful=("never", "")),
    ]
    signals = signals_of(job_of(graph_of("user", nodes, [])))
    assert signals.recency[0] == signals.recency[1] == moment(day(100))
    assert signals.usefulness == [1.0, 1.0, 0.0]
    assert signals.recency[2] == 0.0


def test_a_time_without_a_zone_is_utc():
    assert moment("2026-01-01T00:00:00") == moment("2026-01-01T00:00:00Z") == moment("2026-01-01T01:00:00+01:00")


def test_a_self_edge_connects_nothing_and_parallel_edges_connect_once_each():
    graph = graph_of("user", [Node("a", "g"), Node("b", "g")], [Edge("a", "r", "a")])
    assert Table(job_of(graph)).connectedness(0) == 0.0
    for rel in ("r", "s"):
        graph.put_edge(Edge("a", rel, "b"))
    table = Table(job_of(graph))
    assert (table.weighted(0), table.weighted(1)) == (0.66, 1.32)
    assert explain(job_of(graph), "a").floor == pytest.approx(0.5493, abs=1e-4)


def test_ends_that_are_no_nodes_and_orphans_weigh_nothing_and_stand_in_the_floor():
    ends = ("src/x.py", "nobody", "gone")
    nodes = [Node("a", "g"), Node("gone", "g", tier="orphaned", orphaned=day(1))]
    table = Table(job_of(graph_of("user", nodes, [Edge("a", "r", end) for end in ends])))
    assert table.weighted(0) == 0.0
    assert table.connectedness(0) == pytest.approx(0.6931, abs=1e-4)


@pytest.mark.parametrize("generator", GENERATORS)
def test_scores_are_equal_for_every_now_that_no_time_exceeds(generator):
    for seed in range(40):
        graph = GENERATORS[generator](seed).graph
        expected = scored(job_of(graph, now=day(401)))
        for later in (401.3, 402, 500, 4_000, 100_000):
            assert scored(job_of(graph, now=day(later))) == expected


def test_a_node_has_one_score_whatever_the_order_of_nodes_and_edges():
    for seed in range(40):
        graph = mixed(seed).graph
        nodes, edges = list(graph.nodes.values()), list(graph.edges.values())
        rng = dice(f"order {seed}")
        rng.shuffle(nodes)
        rng.shuffle(edges)
        shuffled = graph_of(graph.key, nodes, edges, upper=graph.upper)
        assert scored(job_of(shuffled)) == scored(job_of(graph))


def test_a_rename_that_is_no_use_leaves_all_scores_as_they_were():
    graph = graph_of("user", NODES, EDGES)
    before = scored(job_of(graph))
    renamed = [Node("d2" if node.id == "d" else node.id, node.gist, used=node.used, read=node.read, useful=node.useful)
               for node in NODES]  # fmt: skip
    edges = [Edge("d2" if edge.source == "d" else edge.source, edge.rel, edge.target) for edge in EDGES]
    after = scored(job_of(graph_of("user", renamed, edges)))
    assert after.pop("d2") == before.pop("d")
    assert after == before


def test_neither_length_nor_reads_make_a_node_more_useful():
    nodes = [Node("a", "g" * 500, used=day(1), read=day(2)), Node("b", "g", used=day(2))]
    found = scored(job_of(graph_of("user", nodes, [])))
    assert found["a"] == found["b"]


# --- explaining ------------------------------------------------------------------------------------------------------


def test_a_scored_node_is_explained_with_its_rank_in_the_pool():
    job = example(f={"tier": "archived"})
    assert [explain(job, node_id).rank for node_id in "beacdf"] == [1, 2, 3, 4, 5, 6]
    assert explain(job, "f").pool_size == 6
    assert explain(job, "f").tier == "archived"
    assert explain(job, "b").outside_pool is None


@pytest.mark.parametrize(
    ("fields", "budget", "reason"),
    [
        ({"locked": True}, NO_FRESH, "locked"),
        ({"tier": "orphaned", "orphaned": day(1)}, NO_FRESH, "orphaned"),
        ({}, AMPLE, "fresh"),
    ],
)
def test_a_node_without_a_score_is_told_why(fields, budget, reason):
    graph = graph_of("user", NODES, EDGES)
    graph.change_node("b", **fields)
    found = explain(job_of(graph, budget=budget), "b")
    assert (found.outside_pool, found.score, found.rank, found.recency) == (reason, None, None, None)


def test_a_node_that_the_graph_does_not_have_cannot_be_explained():
    with pytest.raises(KeyError):
        explain(example(), "nobody")
