"""Who may own the storage folder: locks on empty files.

Theory of operation. A `FolderLock` is a POSIX record lock, taken through fasteners. The kernel frees it the moment its
process is gone, however it went, so no lock is ever stale and none is ever broken open. The price is three properties
that everybody who uses one must keep in mind:

* The lock belongs to a process. A forked child does not have it, so `held` is False there.
* Closing *any* descriptor of the file in the process that holds the lock gives the lock away. So one process makes one
  FolderLock per path, and nothing else opens, reads or copies that file. What a person wants to know about the owner
  stands in run/server.json instead (`read_owner`, `describe_owner`).
* A file that is unlinked can be locked twice. Lock files stay, empty, for ever.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import fasteners

from kg import limits


class LockImpossible(Exception):  # noqa: N818 - named for what the lock is
    """The file system does not lock this file, or its folder cannot be used. Whether it is free stays unknown."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(
            f"{path} cannot be locked: {cause}. kg needs a folder on a local disk that you can write; "
            "set KG_STORAGE to one."
        )
        self.path = path
        self.cause = cause


class FolderLock:
    """One lock of the storage folder. Make one object per path and process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = fasteners.InterProcessLock(path)
        self._holder: int | None = None

    @property
    def held(self) -> bool:
        """Whether this very process has the lock; a child forked meanwhile has not."""
        return self._holder == os.getpid()

    def acquire(self, *, within_s: float = 0.0) -> bool:
        """Take the lock and say whether that worked; True at once when this process has it.

        Args:
            within_s: seconds to go on trying while another process has it.

        Raises:
            LockImpossible: the file system refused for another reason than a holder.
        """
        deadline = time.monotonic() + within_s
        try:
            while not self._try():
                if time.monotonic() >= deadline:
                    return False
                time.sleep(limits.LOCK_POLL_S)
        finally:
            self._close_unless_held()
        return True

    async def acquire_async(self, *, within_s: float) -> bool:
        """Do what `acquire` does without holding up the event loop."""
        deadline = time.monotonic() + within_s
        try:
            while not self._try():
                if time.monotonic() >= deadline:
                    return False
                await asyncio.sleep(limits.LOCK_POLL_S)
        finally:
            self._close_unless_held()
        return True

    def release(self) -> None:
        """Give the lock back; without effect in a process that does not have it."""
        if self.held:
            self._holder = None
            self._lock.release()

    def _try(self) -> bool:
        if self.held:
            return True
        try:
            if not self._path.exists():
                self._path.touch(mode=0o600)  # nobody else's business; fasteners would follow the umask
            taken: bool = self._lock.acquire(blocking=False)
        except (OSError, threading.ThreadError) as error:
            raise LockImpossible(self._path, _cause(error)) from error
        if taken:
            self._holder = os.getpid()
        return taken

    def _close_unless_held(self) -> None:
        if not self.held and self._lock.lockfile is not None:
            self._lock.lockfile.close()


def _cause(error: BaseException) -> str:
    """Dig out what the kernel said; fasteners wraps it into a sentence of its own."""
    origin = error if isinstance(error, OSError) else error.__context__
    return (origin.strerror if isinstance(origin, OSError) else None) or str(error)


@dataclass(frozen=True, slots=True)
class Owner:
    """Who wrote run/server.json. `started` is the process start time, seconds since 1970."""

    pid: int
    started: float
    version: str


def read_owner(server_json: Path) -> Owner | None:
    """Return what run/server.json says of its writer, None when it is missing or no such file."""
    try:
        found = json.loads(server_json.read_text(encoding="utf-8"))
        return Owner(int(found["pid"]), float(found["started"]), str(found["version"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def describe_owner(root: Path, *, is_same: Callable[[int, float], bool]) -> str:
    """Return the sentence for whoever wants to serve a folder that is already served.

    Args:
        root: the storage folder.
        is_same: whether the process with this pid started at this time (supervisor.health.is_same_process). Without it
            a number that the system gave to another program would be named.
    """
    owner = read_owner(root / "run" / "server.json")
    if owner is None or not is_same(owner.pid, owner.started):
        return f"Another kg service holds {root} and has not said yet which; it is starting or stopping. Try again."
    since = datetime.fromtimestamp(owner.started, tz=UTC).astimezone().isoformat(" ", "seconds")
    return f"kg {owner.version} (pid {owner.pid}, since {since}) serves {root} already. kg stop ends it."
