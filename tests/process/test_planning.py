"""Compaction on the running service (spec/compaction.md sections 5, 6 and 7.10)."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys

import psutil
import pytest

from benchmarks.service import grown
from kg.limits import LEVEL_BUDGET_CHARS
from tests.serving import Service, scratch_service
from tests.waiting import until


def level(service: Service) -> dict:
    return next(row for row in service.health()["graphs"]["levels"] if row["graph"] == "user")


def plan(service: Service) -> dict:
    rows = [row for row in service.health()["pool"]["plans"] if row["graph"] == "user"]
    return rows[0] if rows else {"runs": 0, "running": False, "failed": None}


def workers(service: Service) -> list[int]:
    return [row["pid"] for row in service.health()["processes"] if row["role"] == "worker"]


@pytest.fixture
def full():
    """A service whose user level is far above its budget; the first write asks for a plan."""
    with scratch_service() as service:
        grown(service, 2_000, active=2_000)
        yield service.start(within_s=30)


def put(service: Service, sid: str, node: str, gist: str = "claim") -> str:
    return service.text("kg_put_node", session_id=sid, level="user", id=node, gist=gist)


def test_a_level_above_its_budget_is_compacted_after_a_write_and_stays_so_after_a_restart(full):
    sid = full.session()
    put(full, sid, "newest-node")
    until(lambda: level(full)["size"] <= LEVEL_BUDGET_CHARS, within_s=30)
    assert "active" in full.text("kg_read", session_id=sid, id="newest-node")
    until(lambda: any(event["kind"] == "tiers_moved" for event in full.journal()))
    after = level(full)
    assert after["archived"] + after["orphaned"] > 1_000
    full.restart()
    assert level(full) == after


def test_tier_moves_are_no_news_and_no_content(full):
    sid, other = full.session(), full.session()
    put(full, sid, "newest-node")
    until(lambda: level(full)["size"] <= LEVEL_BUDGET_CHARS, within_s=30)
    assert "=== USER — 1 node," in full.text("kg_sync", session_id=other)
    seqs = {node["content_seq"] for node in stored(full).values() if node["tier"] != "active"}
    assert seqs == {0}


def stored(service: Service) -> dict:
    until(lambda: service.health()["graphs"]["dirty"] == [])
    return json.loads((service.root / "user.json").read_text(encoding="utf-8"))["nodes"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_dies_or_hangs_in_a_plan_applies_nothing_and_the_next_run_works(full, how):
    sid = full.session()
    put(full, sid, "newest-node")
    until(lambda: plan(full)["running"] and workers(full))
    before = level(full)["archived"]
    os.kill(workers(full)[0], how)
    until(lambda: plan(full)["failed"], within_s=30)
    assert level(full)["archived"] == before == 0
    assert full.health()["status"] == "degraded"
    assert any("user" in problem for problem in full.health()["problems"])
    put(full, sid, "next-node")
    until(lambda: level(full)["size"] <= LEVEL_BUDGET_CHARS, within_s=40)
    until(lambda: full.health()["status"] == "ok")


def test_writes_during_a_plan_are_kept_and_its_moves_of_those_nodes_are_dropped(full):
    sid = full.session()
    names = list(json.loads((full.root / "user.json").read_text(encoding="utf-8"))["nodes"])[:40]
    put(full, sid, "newest-node")
    until(lambda: plan(full)["running"])
    for name in names:
        assert "Saved" in full.text("kg_put_node", session_id=sid, level="user", id=name, gist=f"new claim of {name}")
    until(lambda: level(full)["size"] <= LEVEL_BUDGET_CHARS and not plan(full)["running"], within_s=40)
    nodes = stored(full)
    assert [nodes[name]["gist"] for name in names] == [f"new claim of {name}" for name in names]


def test_an_idle_graph_asks_for_nothing(service):
    put(service, service.session(), "only-node")
    until(lambda: service.health()["graphs"]["dirty"] == [])
    assert workers(service) == []


def test_a_nodes_score_is_explained_in_parts(service):
    sid = service.session()
    for number in range(140):  # more than the fresh tier holds, less than asks for a plan
        put(service, sid, f"node-{number}", "a claim of usual length, so that not all of them are fresh")
    assert "not scored" in explained(service, "node-139").stdout
    scored = explained(service, "node-0", "--json")
    found = json.loads(scored.stdout)
    parts = [found[name]["contribution"] for name in ("recency", "connectedness", "usefulness")]
    assert found["score"] == pytest.approx(sum(parts))
    assert 1 <= found["rank"] <= found["pool_size"]
    assert "recency" in explained(service, "node-0").stdout
    assert explained(service, "no-such-node").returncode == 1


def explained(service: Service, *words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "supervisor.cli", "explain", *words]
    return subprocess.run(command, env=service.env, capture_output=True, text=True, check=False)


def test_a_worker_that_runs_out_of_memory_in_a_plan_applies_nothing_and_the_next_run_works(full):
    sid = full.session()
    put(full, sid, "newest-node")
    until(lambda: level(full)["size"] <= LEVEL_BUDGET_CHARS and workers(full), within_s=40)
    worker = workers(full)[0]
    used = psutil.Process(worker).memory_info().vms
    resource.prlimit(worker, resource.RLIMIT_AS, (used, used))
    for number in range(60):
        put(full, sid, f"more-{number}")
    until(lambda: plan(full)["failed"], within_s=60)
    assert any("user could not be planned" in problem for problem in full.health()["problems"])
    with contextlib.suppress(ProcessLookupError):  # it answered with an error, or it died of it
        resource.prlimit(worker, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    put(full, sid, "after-it")
    until(lambda: level(full)["size"] <= LEVEL_BUDGET_CHARS and plan(full)["failed"] is None, within_s=60)
