"""Benchmarks of the running service, as tables of ratios within one run.

    python benchmarks/service.py [--quick]

Writes per second by 1 and 8 clients at three sizes of the graph, a put through the Unix socket, the start, memory of
each process, and what shim and hook cost against `true`.
"""

import contextlib
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load import Door, Figures, drive
from tests.serving import REPOSITORY, Service, scratch_service
from tests.shim_client import ShimClient

SIZES = (100, 1_000, 10_000)
WORDS = [
    "parser",
    "lock",
    "cache",
    "index",
    "queue",
    "worker",
    "token",
    "schema",
    "retry",
    "budget",
    "socket",
    "handler",
    "journal",
    "graph",
    "session",
]
ROUNDS = 3
OWN_NODES = 50  # nodes that each client updates in turn


def graph_file(count: int, active: int = 120) -> dict[str, object]:
    """A user graph of so many nodes, most of them archived as a grown graph's are."""
    nodes = {}
    for number in range(count):
        word = WORDS[number % len(WORDS)]
        nodes[f"{word}-{number}"] = {
            "gist": f"the {word} of part {number} has to be opened before the {WORDS[(number + 3) % 15]} is read",
            "notes": [f"seen in run {number}: " + " ".join(WORDS[(number + i) % 15] for i in range(40))],
            "touches": [f"src/{word}/{number}.py:10-40"],
            "tier": "active" if number < active else "archived",
        }
    names = list(nodes)
    edges = [
        {"from": names[n], "rel": "requires", "to": names[(n * 7 + k) % count]}
        for n in range(count)
        for k in (1, 2, 3)
        if names[n] != names[(n * 7 + k) % count]
    ]
    unique = {(e["from"], e["rel"], e["to"]): e for e in edges}
    return {"meta": {"format": 1, "seq": 0}, "nodes": nodes, "edges": list(unique.values())}


def grown(service: Service, count: int, active: int = 120) -> None:
    """Let the service start on a graph of this size."""
    service.root.mkdir(mode=0o700)
    (service.root / "user.json").write_text(json.dumps(graph_file(count, active)), encoding="utf-8")


def writes(door: Door, sid: str, client: int, count: int) -> Iterator[bytes]:
    """Puts of one client: it updates its own nodes in turn."""
    for number in range(count):
        yield door.request(
            "kg_put_node",
            {
                "session_id": sid, "level": "user", "id": f"bench-{client}-{number % OWN_NODES}",
                "gist": f"write {number} of client {client} says that the worker has to be started first",
                "notes": ["a reason of usual length, with what was seen and where it was seen at that time"],
            },
        )  # fmt: skip


def measure(service: Service, door: Door, clients: int, total: int) -> Figures:
    """Writes by so many clients at once."""
    sids = [service.session() for _ in range(clients)]
    drive(door, [writes(door, sid, n, OWN_NODES) for n, sid in enumerate(sids)])  # create the nodes, warm up
    return drive(door, [writes(door, sid, n, total // clients) for n, sid in enumerate(sids)])


def table(title: str, rows: list[tuple[str, ...]]) -> None:
    """Print aligned columns."""
    print(f"\n{title}")
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def write_tables(total: int) -> None:
    """Acknowledged durable writes at each size, over TCP and through the Unix socket."""
    rounds: dict[tuple[int, int], list[Figures]] = {}
    near: dict[int, list[Figures]] = {}
    with contextlib.ExitStack() as stack:
        services = {size: stack.enter_context(scratch_service()) for size in SIZES}
        for size, service in services.items():
            grown(service, size)
            service.start(within_s=30)
        for _, (size, service) in itertools.product(range(ROUNDS), services.items()):  # in turn: the machine drifts
            door = Door(port=service.port, token=service.token)
            for clients in (1, 8):
                rounds.setdefault((size, clients), []).append(measure(service, door, clients, total))
            near.setdefault(size, []).append(measure(service, Door(path=service.socket), 1, total))
        memory(services[SIZES[-1]])
    over_tcp = {key: median(figures) for key, figures in rounds.items()}
    local = {size: median(figures) for size, figures in near.items()}
    rows = [("nodes", "clients", "writes/s", "p50 ms", "p99 ms", "of 100 nodes")]
    for (size, clients), figures in over_tcp.items():
        share = figures.per_second / over_tcp[SIZES[0], clients].per_second
        rows.append((str(size), str(clients), f"{figures.per_second:.0f}", f"{figures.p50_ms:.2f}",
                     f"{figures.p99_ms:.2f}", f"{share:.2f}"))  # fmt: skip
    table("acknowledged durable writes over HTTP", rows)
    rows = [("nodes", "p50 ms", "p99 ms", "p50 of 100 nodes")]
    rows += [(str(size), f"{f.p50_ms:.2f}", f"{f.p99_ms:.2f}", f"{f.p50_ms / local[SIZES[0]].p50_ms:.2f}")
             for size, f in local.items()]  # fmt: skip
    table("a put through the Unix socket, one client", rows)


def median(figures: list[Figures]) -> Figures:
    """The middle round, by its throughput."""
    return sorted(figures, key=lambda each: each.per_second)[len(figures) // 2]


def memory(service: Service) -> None:
    """RSS and USS of each process at the largest size."""
    rows = [("process", "RSS MiB", "USS MiB")]
    with ShimClient(service) as shim:
        shim.session()
        for row in service.health()["processes"]:
            rows.append((row["role"], *_mib(row["pid"])))
        rows.append(("shim", *_mib(shim.pid)))
    table(f"memory at {SIZES[-1]} nodes", rows)


def _mib(pid: int) -> tuple[str, str]:
    info = psutil.Process(pid).memory_full_info()
    return f"{info.rss / 2**20:.1f}", f"{info.uss / 2**20:.1f}"


def start_table(runs: int) -> None:
    """From the command to the first answer, by size."""
    rows = [("nodes", "start ms", "of 100 nodes")]
    first = 0.0
    for size in SIZES:
        with scratch_service() as service:
            grown(service, size)
            service.start(within_s=30).stop()
            taken = []
            for _ in range(runs):
                began = time.perf_counter()
                service.start(within_s=30)
                taken.append((time.perf_counter() - began) * 1000)
                service.stop()
        median = statistics.median(taken)
        first = first or median
        rows.append((str(size), f"{median:.0f}", f"{median / first:.2f}"))
    table("start to first answer", rows)


def client_table(runs: int) -> None:
    """What shim and hook cost, against `true` and a bare shell in the same run."""
    with scratch_service() as service:
        service.start()
        app = service.base / "app"
        app.mkdir()
        start = json.dumps(
            {"session_id": "bench", "cwd": str(app), "hook_event_name": "SessionStart", "source": "startup"}
        )
        prompt = json.dumps(
            {"session_id": "bench", "cwd": str(app), "hook_event_name": "UserPromptSubmit", "prompt": "go"}
        )
        hook = str(REPOSITORY / "hooks" / "kg-hook")
        shim = [sys.executable, "-I", "-S", "-E", str(REPOSITORY / "shim" / "main.py")]
        ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        subprocess.run(
            [hook, "claude", "SessionStart"], input=start.encode(), env=service.env, check=True, capture_output=True
        )
        cases = {
            "true": (["true"], ""), "sh -c true": (["sh", "-c", "true"], ""),
            "python -I -S -E -c pass": ([sys.executable, "-I", "-S", "-E", "-c", "pass"], ""),
            "hook UserPromptSubmit": ([hook, "claude", "UserPromptSubmit"], prompt),
            "shim, start to end of one ping": (shim, ping),
        }  # fmt: skip
        taken: dict[str, list[float]] = {name: [] for name in cases}
        for _, (name, (command, text)) in itertools.product(range(runs), cases.items()):
            began = time.perf_counter()
            subprocess.run(command, input=text.encode(), env=service.env, check=True, capture_output=True)
            taken[name].append((time.perf_counter() - began) * 1000)
    base = statistics.median(taken["true"])
    rows = [("program", "median ms", "min ms", "of true")]
    rows += [(name, f"{statistics.median(t):.1f}", f"{min(t):.1f}", f"{statistics.median(t) / base:.1f}")
             for name, t in taken.items()]  # fmt: skip
    table("what a client's helpers cost", rows)


def main() -> None:
    """Run all of it."""
    quick = "--quick" in sys.argv[1:]
    client_table(10 if quick else 40)
    start_table(1 if quick else 5)
    write_tables(800 if quick else 3_200)


if __name__ == "__main__":
    main()
