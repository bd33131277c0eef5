"""A worker's whole life: take a job, answer it, again, until the owner hangs up.

Theory of operation. The process is spawned by supervisor/pool.py with one end of a socket pair. It confines itself
first: little priority, a limit on memory, no core files, deaf to the terminal's interrupt, which the owner handles. A
job that raises is answered with its error and the worker lives on. While a job runs, a thread gives a sign of life
every second, so that a process which is stopped or stuck in native code is told from one that computes.

The owner's death has three watchers, because an orphan would compute for nobody: the end of file on the socket when the
worker is idle, a thread that waits for the owner's process when it is busy, and the kernel's limit on CPU time, set
anew for every job, when native code lets no thread run.
"""

import importlib
import os
import resource
import select
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress

import multiprocess

from kg import limits
from workers.jobs import Job
from workers.wire import PREFIX, head, header_of, lengths


def serve(link: socket.socket, jobs: str, memory_bytes: int) -> None:
    """Work until the owner hangs up.

    Args:
        link: this side of the socket pair.
        jobs: dotted name of the module whose JOBS is the table (workers.jobs).
        memory_bytes: most address space.
    """
    threading.Thread(target=_follow_owner, args=(_owner_sentinel(),), daemon=True).start()
    table: Mapping[str, Job] = importlib.import_module(jobs).JOBS
    _confine(memory_bytes)
    line = Line(link)
    line.send({"ready": True})
    while (job := line.receive()) is not None:
        header, body = job
        line.begin()
        answer, result = _answer(table, header, body)
        line.end()
        del body, job
        line.send(answer, result)


class Line:
    """The socket, with the signs of life that go out while a job runs."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._sending = threading.Lock()
        self._busy = threading.Event()
        self._idle = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def begin(self) -> None:
        """A job runs."""
        self._idle.clear()
        self._busy.set()

    def end(self) -> None:
        """No job runs."""
        self._busy.clear()
        self._idle.set()

    def send(self, header: Mapping[str, object], body: bytes = b"") -> None:
        """Send one message; ends the process when the owner has gone."""
        with self._sending:
            try:
                self._link.sendall(head(header, len(body)))
                self._link.sendall(body)
            except OSError:
                os._exit(1)

    def receive(self) -> tuple[dict[str, object], bytes] | None:
        """Return the next job, None when the owner has hung up."""
        prefix = self._read(PREFIX.size)
        if prefix is None:
            return None
        header_bytes, body_bytes = lengths(bytes(prefix))
        header, body = self._read(header_bytes), self._read(body_bytes)
        return None if header is None or body is None else (header_of(bytes(header)), bytes(body))

    def _read(self, count: int) -> bytearray | None:
        data = bytearray(count)
        view, got = memoryview(data), 0
        while got < count:
            try:
                step = self._link.recv_into(view[got:])
            except OSError:
                return None
            if not step:
                return None
            got += step
        return data

    def _beat(self) -> None:
        while True:
            self._busy.wait()
            if not self._idle.wait(limits.WORKER_BEAT_S):
                self.send({"beat": True})


def _answer(table: Mapping[str, Job], header: Mapping[str, object], body: bytes) -> tuple[dict[str, object], bytes]:
    kind = str(header.get("kind"))
    if kind not in table:
        return {"failed": f"there is no job of the kind {kind}"}, b""
    _allow_cpu(header.get("limit_s"))
    try:
        return {"done": True}, table[kind](body)
    except Exception as error:  # noqa: BLE001 - the worker's door: a job's fault is an answer
        return {"failed": f"{type(error).__name__}: {error}"[: limits.JOB_ERROR_CHARS]}, b""


def _confine(memory_bytes: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.nice(limits.WORKER_NICE)
    _limit(resource.RLIMIT_CORE, 0)
    if hasattr(resource, "RLIMIT_AS"):
        _limit(resource.RLIMIT_AS, memory_bytes)


def _allow_cpu(limit_s: object) -> None:
    """Let the kernel end this process when it computes much longer than the job may."""
    if isinstance(limit_s, int | float):
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + limit_s) + limits.WORKER_CPU_SPARE_S)


def _limit(what: int, value: int) -> None:
    """Lower or raise a soft limit, as far as the hard one and the system allow."""
    _, hard = resource.getrlimit(what)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(what, (soft, hard))


def _owner_sentinel() -> int:
    owner = multiprocess.parent_process()
    if owner is None:
        sys.exit("A worker is started by the pool alone")
    return int(owner.sentinel)


def _follow_owner(sentinel: int) -> None:
    poll = select.poll()
    poll.register(sentinel, select.POLLIN)
    poll.poll()
    os._exit(1)
