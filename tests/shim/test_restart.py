"""The service goes away between and during calls, is down, or has to be started."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.fakes.local_server import Reply, result
from tests.fakes.shim_process import REPOSITORY, ShimProcess
from tests.waiting import until

SERVICE = """
import json, os, sys, threading
sys.path.append({repository!r})
from pathlib import Path
from tests.fakes.local_server import LocalServer

root = Path(os.environ["KG_STORAGE"])
with open(root / "starts", "a", encoding="utf-8") as starts:
    start = {{"pid": os.getpid(), "argv": sys.argv[1:], "cwd": os.getcwd(), "sid": os.getsid(0)}}
    starts.write(json.dumps(start) + "\\n")
mode = (root / "mode").read_text(encoding="utf-8") if (root / "mode").exists() else "serve"
if mode == "fail":
    (root / "run").mkdir(exist_ok=True)
    record = {{"time": "x", "cause": "the port is taken", "log": "/l"}}
    (root / "run/start-error.json").write_text(json.dumps(record))
    sys.exit(1)
if mode == "crash":
    raise RuntimeError("no words")
if mode == "other":
    sys.exit(3)
LocalServer(root, root.parent / "s.sock").start()
threading.Event().wait()
"""


@pytest.fixture
def tree(folder):
    """A copy of the shim beside a service that does as root/mode says."""
    tree = folder / "tree"
    for name in ("shim/*.py", "kg/__init__.py", "kg/rpc.py", "kg/limits.py"):
        for source in REPOSITORY.glob(name):
            target = tree / source.relative_to(REPOSITORY)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    (tree / "supervisor").mkdir()
    for package in ("shim", "supervisor"):  # regular packages, or the installed ones would win
        (tree / package / "__init__.py").touch()
    (tree / "supervisor/cli.py").write_text(SERVICE.format(repository=str(REPOSITORY)), encoding="utf-8")
    yield tree
    for start in starts(folder / "root"):
        try:
            os.kill(start["pid"], signal.SIGKILL)
        except ProcessLookupError:
            continue


def starts(root: Path) -> list[dict]:
    try:
        return [json.loads(line) for line in (root / "starts").read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []


def test_a_restart_between_two_calls_is_not_noticed(shim, server):
    for ident in range(5):
        shim.send("tools/call", ident)
        assert "result" in shim.answer()
        server.stop(announced=True)
        server.start()
    assert len(server.executed) == 5
    assert shim.end() == (0, [], b"")


def test_a_call_that_lost_its_answer_is_sent_again_under_the_same_key_and_carried_out_once(shim, server):
    async def lose_the_first(request):
        return None if len(server.of("tools/call")) < 3 else result(request)

    server.answer = lose_the_first
    shim.send("tools/call", 1)
    assert shim.answer()["id"] == 1
    sent = server.of("tools/call")
    assert len(sent) == 3
    assert {r.headers["kg-request"] for r in sent} == set(server.executed)
    assert len(server.executed) == 1
    assert shim.end() == (0, [], b"")


def test_a_reply_that_was_cut_off_is_asked_for_again_and_printed_once(shim, server):
    async def cut(request):
        return Reply(result(request).body, cut_at=50 if len(server.requests) == 1 else None)

    server.answer = cut
    shim.send("tools/call", 1)
    assert shim.answer()["result"] == {"echo": "tools/call"}
    assert len(server.executed) == 1
    assert shim.end() == (0, [], b"")


def test_a_restart_during_eight_calls_answers_each_once(shim, server):
    async def hang(request):
        await asyncio.Event().wait()

    server.answer = hang
    for ident in range(8):
        shim.send("tools/call", ident)
    until(lambda: len(server.requests) == 8)
    server.stop(announced=True)

    async def back(request):
        return result(request)

    server.answer = back
    server.start()
    assert sorted(shim.answer()["id"] for _ in range(8)) == list(range(8))
    assert len(server.executed) == 8
    assert shim.end() == (0, [], b"")


def test_a_call_that_always_loses_its_answer_is_given_up_with_a_warning(shim, server):
    async def never(request):
        return None

    server.answer = never
    shim.send("tools/call", 1)
    answer = shim.answer()
    assert answer["error"]["code"] == -32603
    assert "read before you write" in answer["error"]["message"]
    assert len(server.executed) == 1
    assert len(server.requests) <= 6


def test_a_call_can_be_cancelled_while_it_waits_for_the_service(shim, server):
    async def never(request):
        return None

    server.answer = never
    shim.send("tools/call", 1)
    until(lambda: len(server.requests) >= 2)
    shim.send("notifications/cancelled", params={"requestId": 1})
    assert shim.end() == (0, [], b"")


def test_a_service_that_is_down_is_started_and_the_waiting_calls_are_answered(folder, tree):
    with ShimProcess(folder / "root", main=tree / "shim/main.py", PYTHONPATH="/nowhere", KG_PROJECT_ROOT="/p") as shim:
        for ident in range(4):
            shim.send("tools/call", ident)
        answers = [shim.answer() for _ in range(4)]
        assert sorted(answer["id"] for answer in answers) == [0, 1, 2, 3]
        assert all("result" in answer for answer in answers)
        assert shim.end() == (0, [], b"")
    (start,) = starts(folder / "root")
    assert start["argv"] == ["serve"]
    assert start["cwd"] == "/"
    assert start["sid"] == start["pid"], "it has a session of its own, so a client's end does not reach it"
    assert (folder / "root/locks/start").stat().st_size == 0
    assert (folder / "root").stat().st_mode & 0o777 == 0o700


def test_several_shims_start_one_service(folder, tree):
    with contextlib.ExitStack() as stack:
        shims = [stack.enter_context(ShimProcess(folder / "root", main=tree / "shim/main.py")) for _ in range(3)]
        for shim in shims:
            shim.send("ping", 1)
        for shim in shims:
            assert shim.answer()["result"]
    assert len(starts(folder / "root")) == 1


def test_a_probe_of_a_service_that_is_down_is_refused_at_once_and_starts_it(folder, tree):
    with ShimProcess(folder / "root", main=tree / "shim/main.py") as shim:
        shim.send("server/discover", 1)
        assert shim.answer()["error"]["code"] == -32601
        shim.send("initialize", 2, {"clientInfo": {"name": "claude-code"}})
        assert shim.answer()["result"] == {"echo": "initialize"}


def test_a_probe_is_passed_on_while_the_service_serves(shim, server):
    shim.send("server/discover", 1)
    assert shim.answer()["result"] == {"echo": "server/discover"}


def test_a_probe_that_the_service_leaves_waiting_is_refused(shim, server):
    async def hang(request):
        await asyncio.Event().wait()

    server.answer = hang
    shim.send("server/discover", 1)
    assert shim.answer()["error"]["code"] == -32601
    until(lambda: server.cancelled)


def test_a_failed_start_is_told_with_its_cause_and_not_repeated(folder, tree):
    root = folder / "root"
    root.mkdir()
    (root / "mode").write_text("fail", encoding="utf-8")
    with ShimProcess(root, main=tree / "shim/main.py") as shim:
        for ident in range(3):
            shim.send("tools/call", ident)
            error = shim.answer()["error"]
            assert error["code"] == -32603
            assert "the port is taken" in error["message"]
    with ShimProcess(root, main=tree / "shim/main.py") as another:
        another.send("tools/call", 1)
        assert "the port is taken" in another.answer()["error"]["message"]
    assert len(starts(root)) == 1


def test_an_old_failure_does_not_keep_the_service_down(folder, tree):
    root = folder / "root"
    (root / "run").mkdir(parents=True)
    old = root / "run/start-error.json"
    old.write_text('{"time":"x","cause":"old","log":"/l"}', encoding="utf-8")
    os.utime(old, (time.time() - 61, time.time() - 61))
    with ShimProcess(root, main=tree / "shim/main.py") as shim:
        shim.send("ping", 1)
        assert shim.answer()["result"]


def test_a_start_that_breaks_without_a_word_names_its_exit_code_and_the_log(folder, tree):
    root = folder / "root"
    root.mkdir()
    (root / "mode").write_text("crash", encoding="utf-8")
    with ShimProcess(root, main=tree / "shim/main.py") as shim:
        shim.send("ping", 1)
        message = shim.answer()["error"]["message"]
    assert "exit code 1" in message
    assert "server.log" in message


def test_when_another_one_owns_the_folder_the_shim_waits_for_that_one(folder, tree, down):
    root = folder / "root"
    root.mkdir()
    (root / "mode").write_text("other", encoding="utf-8")
    with ShimProcess(root, main=tree / "shim/main.py") as shim:
        shim.send("ping", 1)
        until(lambda: starts(root))
        down.start()
        assert shim.answer()["result"]
    assert len(starts(root)) == 1


def test_a_service_that_comes_back_after_a_failed_start_is_used_at_once(folder, tree, down):
    root = folder / "root"
    root.mkdir()
    (root / "mode").write_text("fail", encoding="utf-8")
    with ShimProcess(root, main=tree / "shim/main.py") as shim:
        shim.send("ping", 1)
        assert "error" in shim.answer()
        down.start()
        shim.send("ping", 2)
        assert shim.answer()["result"]


def test_other_requests_go_on_while_the_service_is_being_started(folder, tree, down):
    root = folder / "root"
    root.mkdir()
    (root / "mode").write_text("other", encoding="utf-8")
    with ShimProcess(root, main=tree / "shim/main.py") as shim:
        shim.send("ping", 1)
        until(lambda: starts(root))
        shim.write(b"garbage\n")
        assert shim.answer()["error"]["code"] == -32700
        down.start()
        assert shim.answer()["id"] == 1


def test_a_relative_storage_path_is_refused_with_the_absolute_one(down):
    with ShimProcess(down.root.parent / "x", KG_STORAGE="mem") as shim:
        shim.send("ping", 1)
        assert str(Path.cwd() / "mem") in shim.answer()["error"]["message"]
        shim.send("server/discover", 2)
        assert shim.answer()["error"]["code"] == -32601
