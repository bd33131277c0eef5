"""Periodic tasks, and the account of whether they run.

Theory of operation. APScheduler only decides when; every task is a coroutine function on the owner's loop, so none
runs in a thread. A late run is made up for once, however late (a laptop slept, the loop was busy), and a task that
still runs is not started a second time. A task that raises is logged and runs again at its next period.

A task's last good run is kept on the monotonic clock, which stands still while the machine sleeps: three periods of
work without one make the task a problem, and health says so. Importing APScheduler takes a tenth of a second or more,
so `start` does that in a thread; call it when the service answers already.
"""

import asyncio
import functools
import importlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kg import limits

Task = Callable[[], Awaitable[None]]
LOG = logging.getLogger("kg.schedule")


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """What is known of one task. `last_ok` is ISO time, `last_error` time and text, `runs` counts all runs."""

    name: str
    period_s: float
    last_ok: str | None = None
    last_error: str | None = None
    runs: int = 0


class Schedule:
    """Tasks by name. `add` them, then `start`; `stop` lets running ones end."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._tasks: dict[str, Task] = {}
        self._records: dict[str, TaskRecord] = {}
        self._good: dict[str, float] = {}
        self._running: set[asyncio.Future[None]] = set()
        self._scheduler: Any = None

    def add(self, name: str, period_s: float, task: Task) -> None:
        """Run `task` every `period_s` seconds once the schedule has started.

        Raises:
            TypeError: the task is no coroutine function; it would run in a thread.
            ValueError: the name is taken, or the schedule has started.
        """
        if not asyncio.iscoroutinefunction(task):
            raise TypeError(f"The task {name} is no coroutine function")
        if name in self._tasks or self._scheduler is not None:
            raise ValueError(f"The task {name} exists or comes after the start")
        self._tasks[name] = task
        self._records[name] = TaskRecord(name, period_s)

    async def start(self) -> None:
        """Begin; the first run of each task is one period from now."""
        module = await asyncio.to_thread(importlib.import_module, "apscheduler.schedulers.asyncio")
        self._scheduler = module.AsyncIOScheduler(
            timezone=UTC, job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )
        for name, record in self._records.items():
            self._good[name] = self._monotonic()
            self._scheduler.add_job(self._run, "interval", seconds=record.period_s, args=[name], id=name)
        self._scheduler.start()

    async def stop(self) -> None:
        """End: no new run, some seconds for those under way, then they are cancelled. Idempotent."""
        if self._scheduler is None or not self._scheduler.running:
            return
        self._scheduler.pause()
        if self._running:
            _, late = await asyncio.wait(tuple(self._running), timeout=limits.SCHEDULE_STOP_S)
            for run in late:
                run.cancel()
            if late:
                await asyncio.wait(late, timeout=limits.SCHEDULE_STOP_S)
        self._scheduler.shutdown(wait=False)
        await asyncio.sleep(0)  # the scheduler shuts down in the loop's next turn

    def tasks(self) -> list[TaskRecord]:
        """Return the record of every task, in the order they were added."""
        return list(self._records.values())

    def problems(self, now: float) -> list[str]:
        """Return a sentence for each task that has not run well for three periods; `now` is on the monotonic clock."""
        return [
            f"The task {name} has not run well for {now - good:.0f} s, its period is {record.period_s:g} s"
            f"{f' ({record.last_error})' if record.last_error else ''}. Look at log/server.log; restart kg if it stays."
            for name, record in self._records.items()
            if (good := self._good.get(name)) is not None and now - good > limits.PERIODS_MISSED * record.period_s
        ]

    async def _run(self, name: str) -> None:
        run = asyncio.ensure_future(self._tasks[name]())
        self._running.add(run)
        run.add_done_callback(functools.partial(self._ended, name))
        await asyncio.wait((run,))

    def _ended(self, name: str, run: asyncio.Future[None]) -> None:
        self._running.discard(run)
        error = asyncio.CancelledError() if run.cancelled() else run.exception()
        if error is not None:
            LOG.error("The task %s failed; it runs again", name, exc_info=error)
        self._note(name, error=error)

    def _note(self, name: str, *, error: BaseException | None) -> None:
        record = self._records[name]
        when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        if error is None:
            self._good[name] = self._monotonic()
            self._records[name] = replace(record, runs=record.runs + 1, last_ok=when)
        else:
            text = f"{type(error).__name__}: {error}"
            self._records[name] = replace(record, runs=record.runs + 1, last_error=f"{when} {text}")
