"""Readings of real processes."""

import mmap
import os
import socket
import subprocess
import sys

import psutil
import pytest

from kg import limits
from supervisor.health import Processes, is_same_process, port_holder, process_started
from tests.waiting import until


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_each_known_process_is_read_with_its_role(child):
    first, second = Processes().read([("supervisor", os.getpid()), ("owner", child.pid)])
    assert (first.role, first.pid) == ("supervisor", os.getpid())
    assert (second.role, second.pid) == ("owner", child.pid)
    assert first.rss_bytes > 1_000_000
    assert first.threads >= 1
    assert first.fds >= 3
    assert first.cpu_seconds > 0
    assert first.age_s >= second.age_s >= 0


def test_a_process_that_has_gone_is_left_out(child):
    processes = Processes()
    assert len(processes.read([("worker", child.pid)])) == 1
    child.kill()
    child.wait()
    assert processes.read([("worker", child.pid)]) == []


def test_private_memory_is_read_for_one_process_a_call_and_then_kept(child):
    now = [0.0]
    processes = Processes(monotonic=lambda: now[0])
    both = [("supervisor", os.getpid()), ("owner", child.pid)]

    def known():
        return [reading.uss_bytes is not None for reading in processes.read(both)]

    assert known() == [False, False]
    assert sum(known()) == 1
    assert sum(known()) == 2
    before = [reading.uss_bytes for reading in processes.read(both)]
    size = 20_000_000
    ballast = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # pages that nothing used before
    ballast.write(b"x" * size)
    assert [reading.uss_bytes for reading in processes.read(both)] == before
    now[0] += limits.USS_CACHED_S
    processes.read(both)
    after = [reading.uss_bytes for reading in processes.read(both)]
    ballast.close()
    assert after[0] > before[0] + size // 2


def test_cpu_percent_counts_since_the_last_call():
    processes = Processes()
    me = [("owner", os.getpid())]
    assert processes.read(me)[0].cpu_percent == 0
    used = psutil.Process().cpu_times().user
    until(lambda: sum(range(10_000)) and psutil.Process().cpu_times().user - used > 0.1)
    assert processes.read(me)[0].cpu_percent > 0


def test_a_process_is_recognised_by_pid_and_start(child):
    started = process_started(child.pid)
    assert is_same_process(child.pid, started)
    assert not is_same_process(child.pid, started - 60)
    child.kill()
    until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
    assert not is_same_process(child.pid, started)
    child.wait()
    assert process_started(child.pid) is None
    assert not is_same_process(child.pid, started)
    assert process_started(-1) is None


def test_the_holder_of_a_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert f"pid {os.getpid()}" in port_holder(port)
    assert port_holder(port) is None
