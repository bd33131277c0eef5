"""How long a plan takes: writing the job, reading it, planning, answering, admitting; two sizes, three starts.

Run it with `python -m benchmarks.compaction`. Times are CPU milliseconds, the best of three. The last columns are
ratios within the run, which say more than the times: ten times the graph should cost about ten times the plan.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kg.admission import Admitting
from kg.apply import apply
from kg.compaction import plan
from kg.delivery import Outbox
from kg.events import Event
from kg.graph import TIERS, Edge, Graph, Node, graph_of
from kg.job import decode_job, job_pieces, job_rows
from kg.proposal import Proposal, decode_proposal, encode_proposal
from kg.world import World

SIZES = (1_000, 10_000)
STARTS = ("active", "archived", "mixed")
EDGES_PER_NODE = 3
TRIES = 3
NOW = "2026-12-30T00:00:00.000Z"
WORDS = ("auth", "token", "cookie", "jar", "session", "refresh", "lock", "parser", "index", "cache", "shim", "pool")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, in milliseconds."""

    nodes: int
    start: str
    write: float
    slice: float
    read: float
    plan: float
    answer: float
    step: float
    moves: int


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """The result, and the CPU milliseconds that it took."""
    began = time.process_time()
    result = work()
    return result, (time.process_time() - began) * 1_000


def level(nodes: int, start: str) -> Graph:
    """A graph of this size, the same at every run."""
    rng = random.Random(nodes)  # noqa: S311 - the same graph everywhere
    ids = [f"{rng.choice(WORDS)}-{rng.choice(WORDS)}-{number}" for number in range(nodes)]

    def moment() -> str:
        return f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T00:00:00.000Z"

    made = []
    for number, node_id in enumerate(ids, 1):
        tier = rng.choice(TIERS) if start == "mixed" else start
        made.append(
            Node(
                node_id, "g" * rng.randint(40, 300), tier=tier, created=moment(), created_seq=number,  # type: ignore[arg-type]
                content_seq=number, used=moment(), useful=tuple(moment() for _ in range(rng.choice((0, 0, 0, 1, 2)))),
                orphaned=moment() if tier == "orphaned" else None,
            )
        )  # fmt: skip
    edges: dict[tuple[str, str, str], Edge] = {}
    while len(edges) < EDGES_PER_NODE * nodes:
        target = rng.choice(ids) if rng.random() < 0.9 else f"src/{rng.randrange(500)}.py"
        edge = Edge(rng.choice(ids), rng.choice(("requires", "documented-in", "instance-of")), target)
        edges[edge.key] = edge
    graph = graph_of("user", made, edges.values())
    graph.seq = nodes
    return graph


def written(graph: Graph) -> tuple[bytes, float, float]:
    """The job; milliseconds in all and of the slowest slice."""
    pieces: list[bytes] = []
    slices: list[float] = []
    source = job_pieces(job_rows(graph, now=NOW, prune=None))
    while True:
        piece, took = timed(lambda: next(source, None))
        slices.append(took)
        if piece is None:
            return b"".join(pieces), sum(slices), max(slices)
        pieces.append(piece)


def slowest_step(graph: Graph, proposal: Proposal) -> float:
    """Apply a proposal as the owner does; milliseconds of the slowest step."""
    world = World(Outbox("benchmark"), seq=graph.seq)
    world.graphs["user"] = graph
    admitting, slowest, more = Admitting(proposal, key="user", grace_days=None), 0.0, True
    while more:
        began = time.process_time()
        admission = admitting.step(world, now=NOW)
        if admission.bodies:
            apply(world, Event(world.seq + 1, NOW, "batch", "kg", None, {"events": list(admission.bodies)}))
        slowest, more = max(slowest, (time.process_time() - began) * 1_000), admission.more
    return slowest


def measured(nodes: int, start: str) -> Row:
    """One line of the table."""
    graph = level(nodes, start)
    jobs = [written(graph) for _ in range(TRIES)]
    data = jobs[0][0]
    job, read = min((timed(lambda: decode_job(data)) for _ in range(TRIES)), key=lambda each: each[1])
    proposal, planned = min((timed(lambda: plan(job)) for _ in range(TRIES)), key=lambda each: each[1])
    answer = min(timed(lambda: decode_proposal(encode_proposal(proposal)))[1] for _ in range(TRIES))
    return Row(
        nodes, start, min(each[1] for each in jobs), min(each[2] for each in jobs), read, planned, answer,
        slowest_step(graph, proposal), len(proposal.moves),
    )  # fmt: skip


def main() -> None:
    """Print the table."""
    print(f"{'nodes':>6} {'start':>9} {'write':>7} {'slice':>6} {'read':>6} {'plan':>6} {'answer':>7} {'step':>6}"
          f" {'moves':>6} {'plan/first':>11} {'plan/read':>10}")  # fmt: skip
    first: float | None = None
    for nodes in SIZES:
        for start in STARTS:
            row = measured(nodes, start)
            first = first or row.plan
            print(f"{row.nodes:6} {row.start:>9} {row.write:7.1f} {row.slice:6.2f} {row.read:6.1f} {row.plan:6.1f}"
                  f" {row.answer:7.1f} {row.step:6.1f} {row.moves:6} {row.plan / first:11.1f}"
                  f" {row.plan / row.read:10.1f}")  # fmt: skip


if __name__ == "__main__":
    main()
