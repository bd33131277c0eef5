"""Benchmarks of what the core renders and decides, as ratios to the smallest graph of the same run.

    python benchmarks/reading.py

A full read, a preload and a put are decided in this process on graphs at budget with more and more archived nodes.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.service import SIZES, graph_file, table
from kg.apply import apply
from kg.codec import event_line
from kg.commands import Caller, Command, Place, PutNode, Read, SessionStarted
from kg.decide import decide
from kg.delivery import Outbox
from kg.documents import edge_from, node_from
from kg.world import World

NOW = "2026-06-01T00:00:00.000Z"
RUNS = 40


def world_of(size: int) -> tuple[World, str]:
    """Both levels of this size, and a session that works on them."""
    world = World(Outbox("bench"))
    document = graph_file(size)
    execute(world, Read(place=Place("/home/ada/app")), fresh="0000000a")
    for key in ("user", "projects/app"):
        graph = world.graph(key)
        for node_id, node in document["nodes"].items():
            graph.put_node(node_from(node_id, node))
        for edge in document["edges"]:
            graph.put_edge(edge_from(edge))
    return world, "0000000a"


def execute(world: World, command: Command, *, fresh: str, caller: Caller | None = None) -> None:
    """What the owner does with a command, up to the bytes of its events."""
    for event in decide(world, command, caller or Caller(), now=NOW, fresh=fresh).events:
        apply(world, event)
        event_line(event)


def median_ms(act: Callable[[int], None]) -> float:
    """Median time of one call."""
    taken = []
    for number in range(RUNS):
        began = time.perf_counter()
        act(number)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def main() -> None:
    """Print the table."""
    rows = [("nodes a level", "full read ms", "ratio", "preload ms", "ratio", "put ms", "ratio")]
    first: tuple[float, ...] | None = None
    for size in SIZES:
        world, sid = world_of(size)
        gc.collect()
        gc.freeze()  # as the service does after loading
        hook = Caller(channel="hook", harness="claude", client_id="bench")

        def put(number: int, world: World = world, sid: str = sid) -> None:
            for part in range(10):
                command = PutNode(
                    sid, "user", f"bench-{part}", f"claim {number} of the usual length of a gist, more or less"
                )
                execute(world, command, fresh="0000000b")

        def start(number: int, world: World = world, hook: Caller = hook) -> None:
            execute(world, SessionStarted("startup", Place("/home/ada/app")), fresh=f"{number:08x}", caller=hook)

        def full(_number: int, world: World = world, sid: str = sid) -> None:
            execute(world, Read(sid), fresh="0000000b")

        taken = (median_ms(full), median_ms(start), median_ms(put) / 10)
        first = first or taken
        pairs = (cell for one, base in zip(taken, first, strict=True) for cell in (f"{one:.3f}", f"{one / base:.2f}"))
        rows.append((str(size), *pairs))
    table("decided in the owner", rows)


if __name__ == "__main__":
    main()
