"""Starts the service when nobody serves the storage folder.

One starter at a time holds a record lock on `locks/start`; the others wait for it, and for the service it brings up.
The holder spawns `python -m supervisor.cli serve` in a session of its own and waits until the socket answers or the
process has ended. Exit code 3 means that somebody else came first: then it waits for that one.

A start that failed is not repeated for a minute. Its cause, from `run/start-error.json`, is told instead, so that
eight clients with a broken folder do not start a process each second. `again=True` (a person typed `kg start`) tries
anyway. Nothing here ever signals a process: a service that is slow to load is left to load.
"""

import errno
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kg.limits import SERVICE_POLL_S, SERVICE_PROBE_S, SERVICE_START_AGAIN_S, SERVICE_START_LIMIT_S
from shim import client
from shim.root import LOG_FILE, START_LOCK_FILE, RootError, server_of, start_error_of, storage_root

ANOTHER_SERVICE = 3  # exit code of `kg serve`: the folder has an owner
CALLERS_OWN = ("KG_PROJECT_ROOT", "KG_HOOKS", "KG_CHORE")  # true of the client that starts the service, not of it
FILE_CLOCK_STEP_S = 1.0  # file times may lag behind the clock by their own step


class StartFailed(Exception):  # noqa: N818 - an outcome, not a fault of the program
    """No service answers; the text is for the user."""


def answering(root: str) -> str | None:
    """Return the socket path of the service that answers for `root`, None when none does."""
    server = server_of(root)
    if server is None:
        return None
    try:
        client.request("GET", "/health", socket_path=server.socket, timeout_s=SERVICE_PROBE_S)
    except OSError:
        return None
    return server.socket


def ensure(root: str, *, limit_s: float = SERVICE_START_LIMIT_S, again: bool = False) -> str:
    """Return the socket path of a service that answers, started if need be.

    Raises:
        StartFailed: none answered within `limit_s` seconds, or it ended; the text names the cause.
    """
    deadline = time.monotonic() + limit_s
    if path := answering(root):
        return path
    with _only_starter(root, deadline) as path:
        return path or _start(root, deadline, again=again)


def main() -> int:
    """Start the service for the shim: silent when it answers, else the cause on stdout."""
    try:
        ensure(storage_root())
    except (StartFailed, RootError) as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "replace"))
        return 1
    return 0


@contextmanager
def _only_starter(root: str, deadline: float) -> Iterator[str | None]:
    """Hold the starter's lock, or yield the socket of the service that another starter brought up meanwhile."""
    lock = _open_lock(root)
    try:
        while True:
            taken = _try_lock(lock)
            path = answering(root)
            if taken or path:
                break
            if time.monotonic() > deadline:
                raise StartFailed("another process has been starting the kg service for too long; see `kg status`")
            time.sleep(SERVICE_POLL_S)
        yield path
    finally:
        os.close(lock)


def _open_lock(root: str) -> int:
    try:
        _make_folders(os.path.dirname(f"{root}/{START_LOCK_FILE}"))  # noqa: PTH120 - see shim/root.py
        return os.open(f"{root}/{START_LOCK_FILE}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartFailed(f"the storage folder {root} cannot be used: {error.strerror} ({error.filename})") from error


def _make_folders(path: str) -> None:
    if not os.path.isdir(path):  # noqa: PTH112
        _make_folders(os.path.dirname(path))  # noqa: PTH120
        try:
            os.mkdir(path, 0o700)  # noqa: PTH102
        except FileExistsError:
            if not os.path.isdir(path):  # noqa: PTH112
                raise


def _try_lock(lock: int) -> bool:
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise StartFailed(f"the start lock cannot be taken: {error.strerror}") from error
    return True


def _start(root: str, deadline: float, *, again: bool) -> str:
    failed = start_error_of(root)
    if failed and 0 <= failed.age_s < SERVICE_START_AGAIN_S and not again:
        raise StartFailed(f"its last start failed {int(failed.age_s)} s ago: {failed.cause}{_see(failed.log)}")
    began = time.monotonic()
    spawned = _spawn(root)
    while True:
        if path := answering(root):
            spawned.returncode = 0  # it outlives its starter on purpose: nobody waits for it
            return path
        code = spawned.poll()
        if code not in (None, ANOTHER_SERVICE):
            raise StartFailed(_cause(root, code or 0, time.monotonic() - began))
        if time.monotonic() > deadline:
            spawned.returncode = 0
            raise StartFailed(_silence(root, code))
        time.sleep(SERVICE_POLL_S)


def _spawn(root: str) -> "subprocess.Popen[bytes]":
    # PYTHONPATH names the tree this module came from, so that shim and service are of one version; the client's own
    # Python settings and working folder (which may hold a package named like one of ours) stay outside.
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON") and k not in CALLERS_OWN}
    environ["PYTHONPATH"] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    environ["KG_STORAGE"] = root
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", "supervisor.cli", "serve"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environ,
            start_new_session=True,
        )
    except OSError as error:
        raise StartFailed(f"{sys.executable} cannot be run: {error.strerror}") from error
    return process


def _cause(root: str, code: int, since_s: float) -> str:
    error = start_error_of(root)
    if error and error.age_s <= since_s + FILE_CLOCK_STEP_S:  # one of an earlier start says nothing about this one
        return f"its start failed: {error.cause}{_see(error.log)}"
    return f"its start ended with exit code {code}{_see(f'{root}/{LOG_FILE}')}"


def _silence(root: str, code: int | None) -> str:
    if code == ANOTHER_SERVICE:
        server = server_of(root)
        who = f"process {server.pid}" if server else "another process"
        return f"{who} owns the storage folder {root} but does not answer; `kg status` tells more"
    return f"it was started but does not answer yet{_see(f'{root}/{LOG_FILE}')}"


def _see(log: str) -> str:
    return f" (see {log})" if log else ""
