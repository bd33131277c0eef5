"""What a hook does when no service listens: have it started, or tell the person why that does not work.

`start` is for SessionStart: it runs `kg start`, which waits until the service answers, and waits for that at most
HOOK_START_WAIT_S. What is slower goes on by itself, and the first prompt of the conversation carries the preload. A
start that failed less than a minute ago is not repeated; its cause, in run/start-error.json, is told instead. An older
failure is history: the person may have put it right, so it is tried again.

`start_behind` is for all other events: it waits for nothing, and runs at most once a minute. The time of the last try
is that of an empty file in the runtime folder, since the memory's own folder may be what does not work.
"""

import json
import os
import posix
import subprocess
import time
from _stat import S_ISDIR
from collections.abc import Iterable

from kg.limits import HOOK_INSTALL_HINT_S, HOOK_START_AGAIN_S, HOOK_START_WAIT_S, SERVICE_START_AGAIN_S
from shim.root import StartError, start_error_of

TELLS_ITS_USER = ("claude", "codex")  # harnesses that show a hook's systemMessage to the person
INSTALL_HINT = "the memory is off, since the program kg was not found; to install it: uv tool install kg-supervisor"


class NotStarted(Exception):  # noqa: N818 - an outcome, not a fault of the program
    """There is no service; the text, which may be empty, is for the person."""


def start(root: str, folders: Iterable[str], deadline: float) -> None:
    """Return when the service answers.

    Raises:
        NotStarted: it cannot start, or (without a text) it is not there yet.
    """
    if failed := _recent_failure(root):
        see = f" (see {failed.log})" if failed.log else ""
        raise NotStarted(f"the memory is not running; its start failed {int(failed.age_s)} s ago: {failed.cause}{see}")
    program = _program(folders)
    if program is None:
        raise NotStarted(INSTALL_HINT if _is_first("install", HOOK_INSTALL_HINT_S) else "")
    starter = subprocess.Popen(  # noqa: S603 - our own program
        [program, "start"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a client that ends its hooks' process group shall not end a start half way
    )
    try:
        _, said = starter.communicate(timeout=max(0.0, min(HOOK_START_WAIT_S, deadline - time.monotonic())))
    except subprocess.TimeoutExpired:
        raise NotStarted from None
    if starter.returncode != 0:
        cause = said.decode("utf-8", "replace").strip().removeprefix("kg: ")
        raise NotStarted(f"the memory is not running: {cause}" if cause else "")


def start_behind(root: str, folders: Iterable[str]) -> None:
    """Begin a start and wait for nothing, unless one was begun or has failed in the last minute."""
    program = _program(folders)
    if program is None or _recent_failure(root) or not _is_first("start", HOOK_START_AGAIN_S):
        return
    subprocess.Popen(  # noqa: S603 - our own program
        [program, "start"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ).returncode = 0  # it outlives this process on purpose: nobody waits for it


def told(harness: str, cause: str) -> bytes:
    """Return what a hook prints so that its client shows `cause` to the person; empty where a client would not."""
    return json.dumps({"systemMessage": f"kg: {cause}"}).encode() if cause and harness in TELLS_ITS_USER else b""


def _recent_failure(root: str) -> StartError | None:
    failed = start_error_of(root)
    return failed if failed and 0 <= failed.age_s < SERVICE_START_AGAIN_S else None


def _program(folders: Iterable[str]) -> str | None:
    # Relative entries of PATH are left out: the working folder is a client's project.
    on_path = (folder for folder in os.environ.get("PATH", "").split(":") if folder.startswith("/"))
    for folder in (*folders, *on_path):
        path = os.path.abspath(f"{folder}/kg")  # noqa: PTH100 - pathlib costs 10 ms
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    return None


def _is_first(name: str, period_s: float) -> bool:
    """Whether this was not asked in the last `period_s`; every True counts as an asking."""
    folder = _runtime_folder()
    if folder is None:
        return False
    stamp = f"{folder}/hook-{name}"
    try:
        if 0 <= time.time() - posix.stat(stamp).st_mtime < period_s:
            return False
    except FileNotFoundError:
        pass
    posix.close(posix.open(stamp, posix.O_WRONLY | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC, 0o600))
    posix.utime(stamp)
    return True


def _runtime_folder() -> str | None:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = f"{runtime}/kg" if os.path.isdir(runtime) else f"/tmp/kg-{posix.getuid()}"  # noqa: PTH112, S108 - owner checked
    try:
        posix.mkdir(folder, 0o700)
    except FileExistsError:
        status = posix.lstat(folder)
        return folder if status.st_uid == posix.geteuid() and S_ISDIR(status.st_mode) else None
    return folder
