"""What the processes of the service cost right now.

Theory of operation. Only processes whose pid is known already are looked at: finding children means walking the whole
process table, which takes longer than everything else here. A process is remembered with its start time, so that a pid
which the system has given to another program is not reported as ours. Resident memory, CPU, threads and descriptors are
read at every call; private memory (USS) costs fifty times as much and is renewed for at most one process per call, when
its last value is older than half a minute. So a call stays under 2 ms.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import psutil

from kg import limits


@dataclass(frozen=True, slots=True)
class Reading:
    """One process. Bytes, seconds and percent of one core; `uss_bytes` is None until it was read for the first time."""

    role: str
    pid: int
    rss_bytes: int
    uss_bytes: int | None
    cpu_percent: float
    cpu_seconds: float
    threads: int
    fds: int
    age_s: float


@dataclass(slots=True)
class _Known:
    process: psutil.Process
    uss_bytes: int | None = None
    uss_read: float = float("-inf")


class Processes:
    """Readings of the processes of one service. CPU percent is since the previous call, 0 at the first."""

    def __init__(
        self, *, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._known: dict[int, _Known] = {}

    def read(self, roles: Iterable[tuple[str, int]]) -> list[Reading]:
        """Return one reading for each (role, pid) that lives."""
        wanted = list(roles)
        pids = {pid for _, pid in wanted}
        self._known = {pid: known for pid, known in self._known.items() if pid in pids}
        self._renew_uss()
        return [reading for role, pid in wanted if (reading := self._reading(role, pid)) is not None]

    def _reading(self, role: str, pid: int) -> Reading | None:
        try:
            known = self._known.get(pid)
            if known is None or not known.process.is_running():
                known = self._known[pid] = _Known(psutil.Process(pid))
            process = known.process
            with process.oneshot():
                times = process.cpu_times()
                return Reading(
                    role=role,
                    pid=pid,
                    rss_bytes=process.memory_info().rss,
                    uss_bytes=known.uss_bytes,
                    cpu_percent=process.cpu_percent(None),
                    cpu_seconds=round(times.user + times.system, 2),
                    threads=process.num_threads(),
                    fds=process.num_fds(),
                    age_s=round(max(0.0, time.time() - process.create_time()), 1),
                )
        except psutil.Error:
            self._known.pop(pid, None)
            return None

    def _renew_uss(self) -> None:
        now = self._monotonic()
        oldest = min(self._known.values(), key=lambda known: known.uss_read, default=None)
        if oldest is None or now - oldest.uss_read < limits.USS_CACHED_S:
            return
        oldest.uss_read = now
        try:
            oldest.uss_bytes = oldest.process.memory_full_info().uss
        except psutil.Error:
            oldest.uss_bytes = None


def process_started(pid: int) -> float | None:
    """Return when this process started, seconds since 1970; None when there is no such process."""
    try:
        started: float = psutil.Process(pid).create_time()
    except (psutil.Error, ValueError, OverflowError):
        return None
    return started


def is_same_process(pid: int, started: float) -> bool:
    """Say whether the process with this pid is alive and started at this time (seconds since 1970)."""
    found = process_started(pid)
    if found is None or abs(found - started) > limits.PROCESS_START_TOLERANCE_S:
        return False
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def port_holder(port: int) -> str | None:
    """Return "pid N (command)" of the process that listens on this TCP port, None when it cannot be told."""
    try:
        listening = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return None
    for entry in listening:
        if entry.status == psutil.CONN_LISTEN and entry.laddr and entry.laddr.port == port and entry.pid:
            return f"pid {entry.pid}{_command(entry.pid)}"
    return None


def _command(pid: int) -> str:
    try:
        return f" ({psutil.Process(pid).name()})"
    except psutil.Error:
        return ""
