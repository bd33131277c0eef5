"""`make run`'s demonstration leaves a good memory running, and nothing of its own, however it ends."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.serving import REPOSITORY, Service, scratch_service
from tests.waiting import until

DEMO = [sys.executable, str(REPOSITORY / "scripts" / "demo.py")]
LIMIT_S = 100


@pytest.fixture
def machine() -> Iterator[Service]:
    """A person's folders, in which no kg runs yet; what runs there at the end is stopped."""
    with scratch_service() as scratch:
        yield scratch
        subprocess.run([DEMO[0], "-m", "supervisor.cli", "stop"], env=scratch.env, capture_output=True, check=False)


def demo(machine: Service, **changed: str) -> subprocess.CompletedProcess[str]:
    env = {**machine.env, **changed}
    return subprocess.run(DEMO, env=env, capture_output=True, text=True, check=False, timeout=LIMIT_S)


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def scratch_of(output: str) -> tuple[Path, int]:
    """Folder and supervisor of the scratch service that the demonstration names."""
    folder = re.search(r"scratch storage \((.+)\):", output)
    pid = re.search(r"kg start .*\(pid (\d+)\)", output)
    assert folder, output
    assert pid, output
    return Path(folder[1]), int(pid[1])


def test_it_shows_every_step_and_leaves_the_default_memory_running_and_empty(machine):
    done = demo(machine)
    assert done.returncode == 0, done.stderr
    for line in ("kg start", "tools/list", "kg_put_node", "kg_search", "SessionStart", "UserPromptSubmit", "kg stop"):
        assert line in done.stdout
    assert "claude mcp add" in done.stdout
    assert machine.health()["graphs"]["levels"][0]["active"] == 0
    folder, pid = scratch_of(done.stdout)
    assert not folder.exists()
    assert not lives(pid)
    again = demo(machine)
    assert again.returncode == 0, again.stderr
    assert f"already running (pid {machine.record['pid']})" in again.stdout


def test_a_storage_that_cannot_be_used_ends_it_with_one_line(machine):
    done = demo(machine, KG_STORAGE="relative")
    assert done.returncode == 1
    assert done.stderr.startswith("make run failed: kg start ended with 1: ")
    assert "Write the absolute path" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_memory_that_is_not_well_ends_it_with_the_reason(machine):
    machine.root.mkdir()
    (machine.root / "config.toml").write_text("[server]\nbroken = true\n", encoding="utf-8")
    done = demo(machine)
    assert done.returncode == 1
    assert "problem: " in done.stdout
    assert "make run failed: kg runs and is not well" in done.stderr


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_one_stops_its_service_and_clears_its_folder(machine, sign):
    process = subprocess.Popen(
        DEMO, env=machine.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    seen = ""
    while "shim: initialize" not in seen:
        line = process.stdout.readline()
        assert line, seen
        seen += line
    folder, pid = scratch_of(seen)
    assert lives(pid)
    os.kill(process.pid, sign)
    _, stderr = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1
    assert stderr == "make run was interrupted; its scratch service is stopped\n"
    until(lambda: not lives(pid))
    assert not folder.exists()
