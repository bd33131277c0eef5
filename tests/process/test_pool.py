"""The pool with real worker processes that crash, hang, grow and outlive."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
import uvloop

from kg import limits
from supervisor.pool import JobFailed, Pool
from tests.process.toy import REPOSITORY, gone
from tests.waiting import until

JOBS = "tests.process.strange_jobs"
LONG_S = 600.0


@asynccontextmanager
async def opened(**how):
    pool = Pool(jobs=JOBS, **how)
    try:
        yield pool
    finally:
        pids = pool.pids()
        await pool.close()
        assert all(gone(pid) for pid in pids)


def ask(pool, kind, payload=b"", *, subject="user", version=1, limit_s=LONG_S):
    return asyncio.ensure_future(pool.run(kind, payload, subject=subject, version=version, limit_s=limit_s))


async def reason(job):
    with pytest.raises(JobFailed) as failed:
        await job
    return failed.value.reason


async def soon(condition):
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - a file or a process of the system
            await asyncio.sleep(0.01)


def in_pool(test, **how):
    """Run `test(pool)` on the loop of the service."""

    async def main():
        async with opened(**how) as pool:
            return await test(pool)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def test_a_process_starts_with_the_first_job_and_is_kept():
    async def test(pool):
        assert pool.pids() == []
        pids = {int(await ask(pool, "pid")) for _ in range(3)}
        assert pids == set(pool.pids())
        assert len(pids) == 1
        assert pool.status() == {"jobs": 3, "queued": 0, "restarts": 0, "set_aside": []}

    in_pool(test)


@pytest.mark.parametrize("size", [0, 1, 100_000, 30_000_000])
def test_bytes_go_there_and_back(size):
    payload = os.urandom(size)

    async def test(pool):
        assert await ask(pool, "echo", payload) == payload

    in_pool(test)


def test_a_plain_loop_will_do_as_well():
    async def main():
        async with opened() as pool:
            return await ask(pool, "echo", b"x" * 3_000_000)

    assert asyncio.run(main()) == b"x" * 3_000_000


def test_two_workers_work_at_a_time():
    async def test(pool):
        resting = [ask(pool, "rest", b"0.5") for _ in range(2)]
        await asyncio.gather(*resting)
        assert len(pool.pids()) == 2

    in_pool(test, workers=2)


def test_a_job_that_raises_says_what_and_kills_nobody():
    async def test(pool):
        for _ in range(3):
            job = ask(pool, "raises", b"no such tier")
            assert await reason(job) == "failed"
            assert "ValueError: no such tier" in str(job.exception())
        assert await reason(ask(pool, "unknown")) == "failed"
        assert pool.status()["restarts"] == 0

    in_pool(test)


def test_a_crash_costs_its_own_job_alone():
    async def test(pool):
        crash, *innocent = ask(pool, "segv"), *(ask(pool, "echo", bytes([n])) for n in range(3))
        assert await reason(crash) == "died"
        assert "SIGSEGV" in str(crash.exception())
        assert await asyncio.gather(*innocent) == [b"\0", b"\1", b"\2"]
        assert pool.status()["restarts"] == 1

    in_pool(test)


@pytest.mark.parametrize("kind", ["hang", "deaf"])
def test_a_job_past_its_time_is_killed(kind, tmp_path):
    note = tmp_path / "began"

    async def test(pool):
        job = ask(pool, kind, str(note).encode(), limit_s=0.5)
        await soon(note.exists)
        [pid] = pool.pids()
        assert await reason(job) == "limit"
        assert gone(pid)
        assert await ask(pool, "echo", b"next") == b"next"

    in_pool(test)


def test_a_job_that_eats_memory_gets_an_error_and_the_worker_lives():
    async def test(pool):
        before = await ask(pool, "pid")
        job = ask(pool, "memory", b"2000000000")
        assert await reason(job) == "failed"
        assert "MemoryError" in str(job.exception())
        assert await ask(pool, "pid") == before

    in_pool(test)


def test_a_stopped_worker_is_noticed_by_its_silence(monkeypatch):
    monkeypatch.setattr(limits, "WORKER_SILENT_S", 2 * limits.WORKER_BEAT_S)

    async def test(pool):
        assert await reason(ask(pool, "stop")) == "died"
        assert await ask(pool, "rest", b"2.5") == b"2.5", "longer than that, but with signs of life"

    in_pool(test)


def test_a_job_that_killed_twice_is_set_aside_until_its_subject_changes():
    async def test(pool):
        assert await reason(ask(pool, "segv")) == "died"
        assert pool.status()["set_aside"] == []
        assert await reason(ask(pool, "leave", b"3")) == "died", "another kind counts for itself"
        assert await reason(ask(pool, "segv")) == "died"
        assert pool.status()["set_aside"] == [{"kind": "segv", "subject": "user", "version": 1}]
        restarts = pool.status()["restarts"]
        assert await reason(ask(pool, "segv")) == "set_aside"
        assert pool.status()["restarts"] == restarts
        assert await reason(ask(pool, "segv", subject="project")) == "died"
        assert await reason(ask(pool, "segv", version=2)) == "died", "it gets another chance"
        assert pool.status()["set_aside"] == []
        assert await reason(ask(pool, "segv", version=2)) == "died"
        assert await reason(ask(pool, "segv", version=2)) == "set_aside"

    in_pool(test)


def test_a_good_run_clears_a_jobs_record(tmp_path):
    file = tmp_path / "file"
    name = str(file).encode()

    async def test(pool):
        for _ in range(3):
            assert await reason(ask(pool, "dies_without", name)) == "died"
            file.touch()
            assert await ask(pool, "dies_without", name) == name
            file.unlink()

    in_pool(test)


def test_an_idle_worker_that_was_killed_is_replaced():
    async def test(pool):
        first = int(await ask(pool, "pid"))
        os.kill(first, signal.SIGKILL)
        await soon(lambda: not pool.pids())
        assert int(await ask(pool, "pid")) != first

    in_pool(test)


def test_the_loop_goes_on_while_a_worker_does_not_read(tmp_path):
    """The socket takes some hundred KiB of 50 MB, so a blocking write would hold the loop until the limit."""

    async def test(pool):
        await ask(pool, "echo")
        [pid] = pool.pids()
        os.kill(pid, signal.SIGSTOP)
        job = ask(pool, "echo", bytes(50_000_000))
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert not job.done()
        os.kill(pid, signal.SIGCONT)
        assert len(await job) == 50_000_000

    in_pool(test)


def test_the_end_fails_what_runs_and_what_waits(tmp_path):
    note = tmp_path / "began"

    async def test(pool):
        running, waiting = ask(pool, "hang", str(note).encode()), ask(pool, "echo")
        await soon(note.exists)
        await pool.close()
        assert await reason(running) == "closed"
        assert await reason(waiting) == "closed"
        assert await reason(ask(pool, "echo")) == "closed"
        assert gone(int(note.read_text()))
        await pool.close()

    in_pool(test)


def test_the_end_while_a_worker_comes_up_leaves_nothing():
    async def test(pool):
        before = set(psutil.Process().children())
        job = ask(pool, "echo")
        await asyncio.sleep(0)
        await pool.close()
        assert await reason(job) == "closed"
        left = set(psutil.Process().children()) - before
        assert [process for process in left if "resource_tracker" not in " ".join(process.cmdline())] == []

    in_pool(test)


def test_a_caller_that_gave_up_does_not_disturb_the_next():
    async def test(pool):
        await ask(pool, "echo")
        first, second = ask(pool, "rest", b"0.2"), ask(pool, "rest", b"600")
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        assert await ask(pool, "echo", b"x") == b"x"
        assert pool.status()["restarts"] == 0

    in_pool(test)


def test_a_table_that_cannot_be_imported_fails_jobs_without_setting_them_aside():
    async def main():
        pool = Pool(jobs="tests.process.no_such_jobs")
        for _ in range(3):
            assert await reason(ask(pool, "echo")) == "died"
        assert pool.status()["set_aside"] == []
        await pool.close()

    asyncio.run(main())


def test_a_worker_is_confined():
    async def test(pool):
        memory, core, cpu, nice, interrupt = map(int, (await ask(pool, "confinement", limit_s=60)).split(b","))
        assert memory == limits.WORKER_MEMORY_BYTES
        assert core == 0
        assert 60 < cpu < 120
        assert nice >= limits.WORKER_NICE
        assert interrupt == 1

    in_pool(test)


def start_owner(kind, payload):
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("pool_owner.py")), kind, payload],
        env={"PYTHONPATH": str(REPOSITORY), "PATH": os.defpath},
        stdout=subprocess.PIPE,
    )


def test_a_worker_imports_nothing_of_the_servers():
    owner = start_owner("modules", "")
    out, _ = owner.communicate(timeout=60)
    loaded = set(out.decode().split())
    assert "workers.main" in loaded
    heavy = {
        "falcon",
        "gunicorn",
        "apscheduler",
        "psutil",
        "uvloop",
        "fasteners",
        "prometheus_client",
        "rich",
        "asyncio",
    }
    assert loaded & heavy == set()
    assert {name for name in loaded if name.partition(".")[0] in {"supervisor", "web", "shim", "hooks"}} == set()


@pytest.mark.parametrize("kind", ["hang", "rest"])
def test_a_busy_worker_does_not_outlive_its_owner(kind, tmp_path):
    note = tmp_path / "began"
    owner = start_owner(kind, str(note) if kind == "hang" else "600")
    try:
        until(lambda: workers_of(owner.pid))
        if kind == "hang":
            until(lambda: note.exists() and note.read_text())
        family = psutil.Process(owner.pid).children(recursive=True)
    finally:
        owner.kill()
        owner.communicate()
    until(lambda: all(gone(process.pid) for process in family))


def workers_of(pid):
    children = psutil.Process(pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]
