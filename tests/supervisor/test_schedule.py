"""Periodic tasks on a real scheduler with short periods."""

import asyncio
import subprocess
import sys

import pytest

from supervisor.schedule import Schedule

SOON_S = 0.01


def record(schedule, name):
    return next(one for one in schedule.tasks() if one.name == name)


def test_a_task_that_fails_is_noted_and_runs_again():
    async def main():
        schedule = Schedule()
        enough = asyncio.Event()

        async def task():
            if record(schedule, "save").runs < 2:
                raise OSError("disk full")
            enough.set()

        schedule.add("save", SOON_S, task)
        assert record(schedule, "save").last_ok is None
        await schedule.start()
        await asyncio.wait_for(enough.wait(), 10)
        await schedule.stop()
        return record(schedule, "save")

    found = asyncio.run(main())
    assert found.runs >= 3
    assert found.last_ok.endswith("Z")
    assert found.last_error.endswith("OSError: disk full")


def test_a_task_without_a_good_run_for_three_periods_is_a_problem():
    async def main():
        now = [1000.0]
        schedule = Schedule(monotonic=lambda: now[0])
        good, bad = asyncio.Event(), asyncio.Event()

        async def works():
            good.set()

        async def fails():
            bad.set()
            raise ValueError("no")

        async def never():
            raise AssertionError

        schedule.add("works", SOON_S, works)
        schedule.add("fails", SOON_S, fails)
        schedule.add("never", 3600, never)
        assert schedule.problems(1e9) == [], "it has not started"
        await schedule.start()
        assert schedule.problems(now[0]) == []
        now[0] += 4 * SOON_S
        for _ in range(2):  # the note of a run is there when the next begins
            good.clear()
            bad.clear()
            await asyncio.wait_for(asyncio.gather(good.wait(), bad.wait()), 10)
        found = schedule.problems(now[0])
        assert [text.split()[2] for text in found] == ["fails"]
        assert "ValueError: no" in found[0]
        assert [text.split()[2] for text in schedule.problems(now[0] + 3 * 3600 + 1)] == ["works", "fails", "never"]
        await schedule.stop()

    asyncio.run(main())


def test_a_task_that_hangs_is_not_started_twice_and_becomes_a_problem():
    async def main():
        schedule = Schedule()
        ticks, begun = asyncio.Semaphore(0), []

        async def hangs():
            begun.append(True)
            await asyncio.Event().wait()

        async def tick():
            ticks.release()

        schedule.add("hangs", SOON_S, hangs)
        schedule.add("tick", SOON_S, tick)
        await schedule.start()
        for _ in range(6):
            await asyncio.wait_for(ticks.acquire(), 10)
        now = asyncio.get_running_loop().time()
        assert len(begun) == 1
        assert any("hangs" in text for text in schedule.problems(now))
        await schedule.stop()
        assert "CancelledError" in record(schedule, "hangs").last_error

    asyncio.run(main())


def test_a_late_run_is_made_up_for_once():
    async def main():
        schedule = Schedule()
        done = asyncio.Event()

        async def task():
            done.set()

        schedule.add("save", SOON_S, task)
        await schedule.start()
        while asyncio.get_running_loop().time() < schedule._good["save"] + 1.5:  # busy, as by a long computation
            pass
        await asyncio.wait_for(done.wait(), 10)
        assert record(schedule, "save").runs == 1
        await schedule.stop()

    asyncio.run(main())


def test_a_stop_lets_a_running_task_end_and_starts_none():
    async def main():
        schedule = Schedule()
        began, may_end = asyncio.Event(), asyncio.Event()

        async def task():
            began.set()
            await may_end.wait()

        schedule.add("save", SOON_S, task)
        await schedule.start()
        await asyncio.wait_for(began.wait(), 10)
        stopping = asyncio.create_task(schedule.stop())
        await asyncio.sleep(0)
        assert not stopping.done()
        may_end.set()
        await stopping
        await schedule.stop()
        return record(schedule, "save")

    found = asyncio.run(main())
    assert (found.runs, found.last_error) == (1, None)


def test_a_task_that_would_run_in_a_thread_is_refused():
    with pytest.raises(TypeError, match="save"):
        Schedule().add("save", 1, lambda: None)


def test_a_name_is_given_once():
    async def task():
        pass

    schedule = Schedule()
    schedule.add("save", 1, task)
    with pytest.raises(ValueError, match="save"):
        schedule.add("save", 1, task)


def test_the_scheduler_is_imported_at_the_start_alone():
    code = "import sys, supervisor.schedule; sys.exit('apscheduler' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
