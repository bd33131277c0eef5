"""How much a large plan holds up the owner: answers of /health and of puts before, during and after it.

    python benchmarks/planning.py

A user graph of 10,000 nodes and 30,000 edges, all active as after an import, is planned while a probe asks on.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.service import grown, table
from kg.limits import LEVEL_BUDGET_CHARS
from tests.serving import Service, scratch_service

NODES = 10_000
BASELINE = 400


def probe(service: Service, taken: list[float]) -> dict[str, object]:
    """One /health, timed."""
    began = time.perf_counter()
    report = service.health()
    taken.append((time.perf_counter() - began) * 1000)
    return report


def row(name: str, taken: list[float], base: float) -> tuple[str, ...]:
    """Percentiles of a phase."""
    taken.sort()
    p50, p99, worst = taken[len(taken) // 2], taken[int(len(taken) * 0.99)], taken[-1]
    return (name, str(len(taken)), f"{p50:.2f}", f"{p99:.2f}", f"{worst:.2f}", f"{p50 / base:.2f}")


def main() -> None:
    """Print the table."""
    with scratch_service() as service:
        grown(service, NODES, active=NODES)
        service.start(within_s=60)
        sid = service.session()
        before: list[float] = []
        for _ in range(BASELINE):
            probe(service, before)
        base = sorted(before)[BASELINE // 2]
        planning: list[float] = []
        began = time.perf_counter()
        service.text("kg_put_node", session_id=sid, level="user", id="asks-for-it", gist="claim")
        while True:
            report = probe(service, planning)
            levels = {each["graph"]: each for each in report["graphs"]["levels"]}  # type: ignore[index]
            plans = report["pool"]["plans"]  # type: ignore[index]
            if levels["user"]["size"] <= LEVEL_BUDGET_CHARS or any(plan["failed"] for plan in plans):
                break
        elapsed = time.perf_counter() - began
        after: list[float] = []
        for _ in range(BASELINE):
            probe(service, after)
        rows = [("/health", "asked", "p50 ms", "p99 ms", "worst ms", "p50 of before")]
        rows += [
            row("before", before, base),
            row("while planned and applied", planning, base),
            row("after", after, base),
        ]
        table(
            f"one plan of {NODES} nodes, {levels['user']['edges']} edges: {elapsed:.1f} s from the put to the result",
            rows,
        )
        print(f"  level: {levels['user']}\n  failed: {[plan['failed'] for plan in plans]}")


if __name__ == "__main__":
    main()
