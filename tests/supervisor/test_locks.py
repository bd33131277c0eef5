"""Locks between real processes."""

import asyncio
import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from supervisor.health import is_same_process, process_started
from supervisor.locks import FolderLock, LockImpossible, describe_owner, read_owner

HOLDER = """
import os, sys
from pathlib import Path
from supervisor.locks import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print(lock.acquire(within_s=float(sys.argv[2])), flush=True)
if len(sys.argv) > 3 and os.fork() == 0:
    print("child", lock.held, flush=True)
    lock.release()
    sys.stdin.read()
    os._exit(0)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "storage"


@pytest.fixture
def process(path):
    """Start processes that try for the lock; each prints True or False and then waits for a line or its end."""
    started = []

    def start(within_s=0.0, *more):
        one = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path), str(within_s), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(one)
        return one

    yield start
    for one in started:
        one.kill()
        one.communicate()


def said(process):
    return process.stdout.readline().strip()


def test_only_one_process_gets_the_lock(path, process):
    assert said(process()) == "True"
    assert said(process()) == "False"
    assert FolderLock(path).acquire() is False


def test_a_killed_holder_leaves_the_lock_to_whoever_waits(path, process):
    first = process()
    assert said(first) == "True"
    waiting = process(30.0)
    first.send_signal(signal.SIGKILL)
    assert said(waiting) == "True"


def test_the_loop_goes_on_while_it_waits_for_the_lock(path, process):
    first = process()
    assert said(first) == "True"

    async def take():
        lock = FolderLock(path)
        waiting = asyncio.create_task(lock.acquire_async(within_s=30))
        await asyncio.sleep(0)
        assert not waiting.done()
        first.kill()
        taken = await waiting
        lock.release()
        return taken

    assert asyncio.run(take())


def test_waiting_without_blocking_ends_at_its_bound(path, process):
    assert said(process()) == "True"
    assert asyncio.run(FolderLock(path).acquire_async(within_s=0.05)) is False


def test_a_forked_child_neither_has_the_lock_nor_gives_it_away(path, process):
    parent = process(0.0, "fork")
    assert said(parent) == "True"
    assert said(parent) == "child False"
    assert said(process()) == "False"
    parent.kill()
    assert said(process(30.0)) == "True"


def test_taking_the_lock_again_keeps_it_and_releasing_it_frees_it(path, process):
    lock = FolderLock(path)
    assert lock.acquire()
    assert lock.acquire()
    assert lock.held
    assert said(process()) == "False"
    lock.release()
    assert not lock.held
    lock.release()
    assert said(process()) == "True"


def test_the_file_stays_empty_and_is_its_owners_alone(path):
    old = os.umask(0)
    try:
        lock = FolderLock(path)
        assert lock.acquire()
        lock.release()
    finally:
        os.umask(old)
    assert path.stat().st_size == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_is_missing_is_named_with_its_cause(tmp_path):
    path = tmp_path / "file" / "storage"
    path.parent.write_text("no folder")
    with pytest.raises(LockImpossible) as refused:
        FolderLock(path).acquire()
    assert str(path) in str(refused.value)
    assert os.strerror(errno.ENOTDIR) in str(refused.value)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named_with_its_cause(path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "lockf", refuse)
    lock = FolderLock(path)
    with pytest.raises(LockImpossible) as refused:
        lock.acquire(within_s=30)
    assert str(path) in str(refused.value)
    assert os.strerror(code) in str(refused.value)
    assert not lock.held


def serve_note(root, **fields):
    (root / "run").mkdir()
    (root / "run" / "server.json").write_text(json.dumps(fields))


def test_the_owner_is_named_with_pid_start_and_version(tmp_path):
    serve_note(tmp_path, pid=os.getpid(), started=process_started(os.getpid()), version="1.2.3")
    text = describe_owner(tmp_path, is_same=is_same_process)
    assert f"pid {os.getpid()}" in text
    assert "1.2.3" in text
    assert str(tmp_path) in text


def test_a_pid_that_went_to_another_program_is_not_named(tmp_path):
    serve_note(tmp_path, pid=os.getpid(), started=process_started(os.getpid()) - 100, version="1.2.3")
    text = describe_owner(tmp_path, is_same=is_same_process)
    assert str(os.getpid()) not in text.replace(str(tmp_path), "")
    assert str(tmp_path) in text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pid": "x", "started": 1, "version": "1"}', "\xff"])
def test_an_unreadable_note_names_nobody(tmp_path, text):
    note = tmp_path / "server.json"
    note.write_text(text, encoding="latin-1")
    assert read_owner(note) is None
    assert read_owner(tmp_path / "missing") is None
