"""Jobs and proposals as bytes."""

import json

import pytest

from kg.compaction import plan
from kg.graph import Edge, Node, graph_of
from kg.job import decode_job, encode_job, job_pieces, job_rows
from kg.limits import JOB_SLICE
from kg.proposal import ProposalInvalid, decode_proposal, encode_proposal
from tests.strategies.levels import GENERATORS, NOW, day, mixed
from workers import compaction
from workers.jobs import JOBS


def test_a_job_says_of_each_end_whether_it_lies_outside():
    upper = graph_of("user", [Node("shared", "g")], [])
    ends = ("shared", "src/x.py", "nobody", "b")
    nodes = [Node("a", "g"), Node("b", "g")]
    edges = [*(Edge("a", "r", end) for end in ends), Edge("src/x.py", "r", "shared"), Edge("shared", "r", "a")]
    graph = graph_of("projects/app", nodes, edges, upper=upper)
    job = decode_job(encode_job(job_rows(graph, now=NOW, prune=None)))
    assert {(edge.source, edge.target): edge.outside for edge in job.edges} == {
        ("a", "shared"): "target",
        ("a", "src/x.py"): "target",
        ("a", "nobody"): "",
        ("a", "b"): "",
        ("src/x.py", "shared"): "both",
        ("shared", "a"): "source",
    }


def test_a_project_node_hides_the_user_node_of_its_name_from_the_job():
    upper = graph_of("user", [Node("a", "g")], [])
    graph = graph_of("projects/app", [Node("a", "g")], [Edge("a", "r", "a")], upper=upper)
    assert decode_job(encode_job(job_rows(graph, now=NOW, prune=None))).edges[0].outside == ""


def test_a_job_is_written_in_slices_and_holds_the_graph_as_it_was_at_the_first():
    nodes = [Node(f"n{number}", "g", created_seq=number) for number in range(2 * JOB_SLICE)]
    graph = graph_of("user", nodes, [Edge("n0", "r", "n1"), Edge("n0", "r", "later")])
    graph.seq = 7
    expected = encode_job(job_rows(graph, now=NOW, prune=None))
    pieces = job_pieces(job_rows(graph, now=NOW, prune=None))
    written = [next(pieces)]
    graph.remove_node("n5")
    graph.change_node("n1", tier="archived")
    graph.put_node(Node("later", "g"))
    graph.put_edge(Edge("n2", "r", "n3"))
    graph.seq = 8
    written += pieces
    assert len(written) == 4
    assert b"".join(written) == expected


def test_a_job_that_holds_something_twice_or_nothing_is_no_job():
    rows = list(job_rows(graph_of("user", [Node("a", "g")], [Edge("a", "r", "b")]), now=NOW, prune=None))
    for twice in (rows[1], rows[2]):
        with pytest.raises(ValueError, match="twice"):
            decode_job(encode_job([*rows, twice]))
    for garbage in (b"", b"{}", b"[", b'{"graph": 1}\n[["node"]]'):
        with pytest.raises((ValueError, TypeError)):
            decode_job(garbage)


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_proposal_is_read_as_it_was_written(generator):
    for seed in range(30):
        level = GENERATORS[generator](seed)
        payload = encode_job(job_rows(level.graph, now=NOW, prune=100, budget=level.budget))
        proposal = plan(decode_job(payload))
        assert decode_proposal(encode_proposal(proposal)) == proposal
        assert JOBS["compaction"] is compaction.plan
        assert compaction.plan(payload) == encode_proposal(proposal)


def proposal_document() -> dict:
    """A plan with a swap and an archiving, as it comes from a worker."""
    document = json.loads(encode_proposal(plan(decode_job(encode_job(job_rows(mixed(1).graph, now=day(1), prune=0))))))
    rests = {"created_seq": 1, "content_seq": 2, "tier": "active", "votes": 0, "read": None}
    document["moves"] = [
        {"id": "a", "from": "active", "to": "archived", "why": "swap", "partner": "b", "rests_on": rests},
        {"id": "b", "from": "archived", "to": "active", "why": "swap", "partner": "a",
         "rests_on": rests | {"tier": "archived"}},
        {"id": "c", "from": "active", "to": "archived", "why": "archive", "rests_on": rests},
    ]  # fmt: skip
    return document


def test_the_document_of_these_tests_is_a_proposal():
    assert len(decode_proposal(json.dumps(proposal_document()).encode()).moves) == 3


@pytest.mark.parametrize("name", ["graph", "base_seq", "now", "moves", "scores", "size", "stalled", "rounds", "judged"])
@pytest.mark.parametrize("value", [None, -1, 1.5, ["x"], {"a": "b"}])
def test_a_proposal_with_a_field_that_is_missing_or_wrong_is_refused(name, value):
    document = proposal_document() | {name: value}
    with pytest.raises(ProposalInvalid):
        decode_proposal(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (2, {"id": "a"}),
        (2, {"why": "tidy"}),
        (2, {"to": "active"}),
        (2, {"to": "nowhere"}),
        (2, {"from": "archived"}),
        (2, {"partner": "a"}),
        (2, {"rests_on": None}),
        (2, {"rests_on": {"tier": "active"}}),
        (0, {"partner": "c"}),
        (0, {"partner": "nobody"}),
        (0, {"partner": None}),
        (0, {"partner": 5}),
        (0, {"why": "archive"}),
        (1, {"id": "d"}),
    ],
)
def test_a_proposal_that_contradicts_itself_is_refused(number, changes):
    document = proposal_document()
    document["moves"][number] |= changes
    with pytest.raises(ProposalInvalid):
        decode_proposal(json.dumps(document).encode())


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"{", b"\xff", b'{"moves": [3]}', b"nan"])
def test_garbage_is_no_proposal(data):
    with pytest.raises(ProposalInvalid):
        decode_proposal(data)


def test_a_move_that_is_no_object_is_refused():
    with pytest.raises(ProposalInvalid):
        decode_proposal(json.dumps(proposal_document() | {"moves": [3]}).encode())
