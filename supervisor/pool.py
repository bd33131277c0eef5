"""Isolated processes for heavy work: bytes in, bytes out.

Theory of operation. `run` puts a job into a queue; each of N slots takes one at a time and gives it to its process,
which is spawned when the first job comes and kept. Nothing of this happens on the loop for longer than a moment:
starting a process goes through a thread, payloads are written in blocks with back pressure, and a process that dies is
noticed through its sentinel within milliseconds.

A job fails alone. Past its time limit, or when its process dies or falls silent, the process is killed (TERM, then
KILL), the caller gets `JobFailed`, and the next job gets a new process, after a pause that doubles with every death in
a row. Jobs are told apart by kind and subject (a graph): one that has killed two processes is set aside, which means
refused at once, until its caller brings another version of the subject. A job that answers with an error has killed
nobody.

Processes are spawned, not forked: the owner has threads and a foreign loop. A spawned process imports the program's
main module once more, so that one has to stay light. Data never goes through multiprocess's own pickles
(workers/wire.py).
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kg import limits
from supervisor.workerlink import Gone, Launched, WorkerProcess, launch

Reason = Literal["limit", "died", "failed", "set_aside", "closed"]
LOG = logging.getLogger("kg.pool")


class JobFailed(Exception):  # noqa: N818 - named for what the job is
    """A job has no result.

    Attributes:
        reason: limit (took too long), died (its process), failed (it raised), set_aside (it killed two processes and
            its version is the same), closed (the pool).
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(slots=True)
class _Job:
    kind: str
    subject: str
    version: int
    payload: bytes
    limit_s: float
    result: asyncio.Future[bytes] = field(repr=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.subject

    def fail(self, reason: Reason, detail: str) -> None:
        if not self.result.done():
            self.result.set_exception(JobFailed(reason, f"The job {self.kind} of {self.subject} {detail}"))


@dataclass(frozen=True, slots=True)
class _Kills:
    version: int
    count: int


class Pool:
    """Up to `workers` processes."""

    def __init__(
        self, *, workers: int = 1, jobs: str = "workers.jobs", memory_bytes: int = limits.WORKER_MEMORY_BYTES
    ) -> None:
        """Start nothing yet.

        Args:
            workers: most processes at a time.
            jobs: dotted name of the module with the table JOBS.
            memory_bytes: most address space of a process.
        """
        self._workers = workers
        self._launch = lambda: launch(jobs, memory_bytes)
        self._queue: asyncio.Queue[_Job] = asyncio.Queue()
        self._slots: list[_Slot] = []
        self._kills: dict[tuple[str, str], _Kills] = {}
        self._closed = False

    async def run(self, kind: str, payload: bytes, *, subject: str, version: int, limit_s: float) -> bytes:
        """Return what the job makes of the payload.

        Args:
            kind: key of the table of jobs.
            payload: its input.
            subject: what it works on, such as a graph's slug.
            version: changes when the subject does; a job that was set aside gets another chance then.
            limit_s: seconds it may take, once its process is ready.

        Raises:
            JobFailed: see there. Cancelling the caller lets a running job end unheard.
        """
        job = _Job(kind, subject, version, payload, limit_s, asyncio.get_running_loop().create_future())
        if self._closed:
            job.fail("closed", "came after the end")
        elif not self._set_aside(job):
            self._queue.put_nowait(job)
            if not self._slots:
                self._slots = [_Slot(self._queue, self._launch, self) for _ in range(self._workers)]
        return await job.result

    def status(self) -> dict[str, object]:
        """Return counts for /health: jobs ended, jobs waiting, processes started again, jobs set aside."""
        return {
            "jobs": sum(slot.jobs for slot in self._slots),
            "queued": self._queue.qsize(),
            "restarts": sum(slot.restarts for slot in self._slots),
            "set_aside": [
                {"kind": kind, "subject": subject, "version": kills.version}
                for (kind, subject), kills in self._kills.items()
                if kills.count >= limits.JOB_KILLS
            ],
        }

    def pids(self) -> list[int]:
        """Return the pids of the living processes."""
        alive = (slot.process for slot in self._slots if slot.process is not None)
        return [process.pid for process in alive if not process.dead.is_set()]

    async def close(self) -> None:
        """Fail what waits or runs, end the processes. Idempotent."""
        self._closed = True
        await asyncio.gather(*(slot.close() for slot in self._slots))
        while not self._queue.empty():
            self._queue.get_nowait().fail("closed", "was still waiting at the end")

    def begins(self, job: _Job) -> bool:
        """Say whether a slot shall run this job: somebody waits for it, and it is not set aside meanwhile."""
        return not job.result.done() and not self._set_aside(job)

    def survived(self, job: _Job) -> None:
        """Forget what this job did to its processes."""
        self._kills.pop(job.key, None)

    def killed(self, job: _Job) -> None:
        """Remember that this job has killed its process."""
        known = self._kills.get(job.key)
        count = known.count if known is not None and known.version == job.version else 0
        self._kills[job.key] = _Kills(job.version, count + 1)
        if count + 1 == limits.JOB_KILLS:
            LOG.error("The job %s of %s is set aside until its subject changes", job.kind, job.subject)

    def _set_aside(self, job: _Job) -> bool:
        known = self._kills.get(job.key)
        if known is None or known.version != job.version or known.count < limits.JOB_KILLS:
            return False
        job.fail("set_aside", f"has killed {known.count} workers and waits until its subject changes")
        return True


class _Slot:
    """Takes jobs from the queue, one at a time, and keeps a process for them."""

    def __init__(self, queue: asyncio.Queue[_Job], launch: Callable[[], Launched], pool: Pool) -> None:
        self.process: WorkerProcess | None = None
        self.jobs = 0
        self.restarts = 0
        self._queue = queue
        self._launch = launch
        self._pool = pool
        self._pause_s = 0.0
        self._task = asyncio.ensure_future(self._work())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait((self._task,))
        if self.process is not None:
            await self.process.end()
            self.process = None

    async def _work(self) -> None:
        while True:
            job = await self._queue.get()
            try:
                if self._pool.begins(job):
                    await self._run(job)
                    self.jobs += 1
            finally:
                job.fail("closed", "was cut off by the end")  # without effect when it has its result

    async def _run(self, job: _Job) -> None:
        process = await self._ready(job)
        if process is None:
            return
        try:
            async with asyncio.timeout(job.limit_s):
                header, body = await process.ask({"kind": job.kind, "limit_s": job.limit_s}, job.payload)
        except TimeoutError:
            self._pool.killed(job)
            await self._replace(job)
            job.fail("limit", f"took longer than {job.limit_s:g} s")
        except Gone as gone:
            self._pool.killed(job)
            job.fail("died", f"has lost its worker: {gone}, {await self._replace(job)}")
        else:
            self._pause_s = 0.0
            self._pool.survived(job)
            if "failed" in header:
                job.fail("failed", f"failed: {header['failed']}")
            elif not job.result.done():
                job.result.set_result(body)

    async def _ready(self, job: _Job) -> WorkerProcess | None:
        """Return a process that waits for a job; None when it did not come up, which is no fault of the job."""
        if self.process is not None and self.process.dead.is_set():
            await self._replace(None)
        if self.process is None:
            await asyncio.sleep(self._pause_s)
            self.process = await WorkerProcess.start(self._launch)
            try:
                async with asyncio.timeout(limits.WORKER_BOOT_S):
                    await self.process.read()
            except (TimeoutError, Gone) as error:
                how = await self._replace(job)
                job.fail("died", f"got no worker, since none comes up: {str(error) or 'too slow'}, {how}")
        return self.process

    async def _replace(self, job: _Job | None) -> str:
        """End the process, and return how it went; the next job starts another one."""
        if self.process is None:
            return "not started"
        how = await self.process.end()
        what = "an idle worker" if job is None else f"the worker of {job.kind} of {job.subject}"
        LOG.warning("Replacing %s (pid %d, %s)", what, self.process.pid, how)
        self.process = None
        self.restarts += 1
        self._pause_s = min(limits.WORKER_PAUSE_S, max(limits.WORKER_PAUSE_FIRST_S, 2 * self._pause_s))
        return how
