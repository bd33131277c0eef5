"""The hook when no service listens: who starts it, how often, and what the person hears.

`kg` is a small program of the test, first on the path. It writes down each start; to start the service it leaves a word
for the test's thread, which then brings the server up, and it waits for its socket as the real `kg start` does.
"""

import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from tests.fakes.hook_server import delivered
from tests.waiting import until

LATER_S = 120  # more than any pause between two tries
STARTS = '#!/bin/sh\necho "$*" >>"{log}"\n{then}\n'
# The second half ends it when the test is over and its folder is gone.
BRINGS_UP = 'until [ -e "{root}/run/server.json" ] || [ ! -e "{log}" ]; do sleep 0.02; done'


@pytest.fixture
def log(home):
    return home.path.parent / "starts"


def _kg(home, log, then):
    home.program("kg", STARTS.format(log=log, then=then))


def _starts(log):
    return log.read_text().splitlines() if log.exists() else []


def _brings_up(home, log):
    """Make a `kg` that starts the test's server; return the thread that does it."""
    _kg(home, log, BRINGS_UP.format(root=home.root, log=log))

    def wait_and_start():
        until(lambda: _starts(log))
        home.server.start()

    thread = threading.Thread(target=wait_and_start)
    thread.start()
    return thread


def _fail_start(home, *, ago_s, cause='disk "full" \\ ü\n\x01'):
    path = home.root / "run/start-error.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"time": 1, "cause": cause, "log": "/l/server.log"}), encoding="utf-8")
    when = time.time() - ago_s
    os.utime(path, (when, when))


def test_session_start_starts_the_service_and_brings_the_preload(home, log):
    home.server.answer = lambda _: delivered("preload")
    thread = _brings_up(home, log)
    outcome = home.run("claude", "SessionStart", stdin=b'{"source":"startup"}\n')
    thread.join(10)
    assert (outcome.code, outcome.out, outcome.err) == (0, b"preload", b"")
    assert _starts(log) == ["start"]
    assert [request.body for request in home.server.hooks] == [b'{"source":"startup"}\n']
    assert until(lambda: home.server.acknowledged) == ["d1"]


def test_a_socket_left_behind_by_a_killed_service_is_no_service(home, log):
    home.server.answer = lambda _: delivered("preload")
    home.server.start()
    home.server.stop()
    _kg(home, log, "exit 1")
    home.run("claude", "SessionStart", stdin=b"{}")
    assert _starts(log) == ["start"]
    assert home.server.requests == []


def test_a_start_that_fails_tells_the_person_why(home, log, silent):
    _kg(home, log, "echo 'kg: the folder \"/m\" cannot be written: ü' >&2; exit 1")
    outcome = home.run("claude", "SessionStart")
    assert json.loads(outcome.out) == {
        "systemMessage": 'kg: the memory is not running: the folder "/m" cannot be written: ü'
    }
    assert (outcome.code, outcome.err) == (0, b"")


def test_a_start_that_failed_a_moment_ago_is_told_and_not_repeated(home, log):
    _kg(home, log, "exit 0")
    _fail_start(home, ago_s=5)
    message = json.loads(home.run("codex", "SessionStart").out)
    assert list(message) == ["systemMessage"]
    assert 'disk "full" \\ ü\n\x01' in message["systemMessage"]
    assert "/l/server.log" in message["systemMessage"]
    assert _starts(log) == []


def test_a_failure_of_some_minutes_ago_is_history(home, log):
    _kg(home, log, "exit 1")
    _fail_start(home, ago_s=LATER_S)
    home.run("claude", "SessionStart")
    assert _starts(log) == ["start"]


def test_a_harness_that_shows_no_messages_gets_none(home, log, silent):
    _fail_start(home, ago_s=5)
    assert home.run("antigravity", "SessionStart") == silent


def test_a_start_that_takes_too_long_is_left_to_go_on(home, log, silent):
    _kg(home, log, 'trap "" TERM; sleep 6; echo done >>"$0.done"')
    assert home.run("claude", "SessionStart") == silent
    assert until((home.bin / "kg.done").exists)


def test_a_relative_storage_path_is_told_with_the_absolute_one(home):
    message = json.loads(home.run("claude", "SessionStart", KG_STORAGE="mem").out)["systemMessage"]
    assert f"{home.path.parent}/mem" in message


def test_a_relative_storage_path_is_no_matter_of_other_events(home, silent):
    assert home.run("claude", "UserPromptSubmit", KG_STORAGE="mem") == silent


def test_without_the_program_the_person_is_told_once_how_to_install_it(home, silent):
    assert "uv tool install kg-supervisor" in json.loads(home.run("claude", "SessionStart").out)["systemMessage"]
    assert home.run("claude", "SessionStart") == silent


def test_other_events_are_silent_and_start_the_service_behind_themselves(home, log, silent):
    thread = _brings_up(home, log)
    assert home.run("claude", "UserPromptSubmit") == silent
    thread.join(20)
    assert _starts(log) == ["start"]


def test_other_events_start_it_at_most_once_a_minute(home, log, silent):
    _kg(home, log, "exit 1")
    assert home.run("claude", "UserPromptSubmit") == silent
    until(lambda: _starts(log))
    stamp = home.runtime / "kg/hook-start"
    first = stamp.stat().st_mtime_ns
    for _ in range(3):
        assert home.run("claude", "UserPromptSubmit") == silent
    os.utime(stamp, (time.time() - LATER_S,) * 2)
    assert home.run("claude", "UserPromptSubmit") == silent
    until(lambda: stamp.stat().st_mtime_ns > first)
    assert until(lambda: len(_starts(log)) >= 2)
    assert _starts(log) == ["start", "start"]


def test_other_events_start_nothing_after_a_start_that_just_failed(home, log, silent):
    _kg(home, log, "exit 1")
    _fail_start(home, ago_s=5)
    assert home.run("claude", "UserPromptSubmit") == silent
    assert home.run("claude", "SessionStart").out
    assert _starts(log) == []


def test_nothing_is_left_in_the_storage_folder(home, log):
    _kg(home, log, "exit 1")
    home.run("claude", "UserPromptSubmit")
    until(lambda: _starts(log))
    assert not home.root.exists()


@pytest.mark.parametrize("variables", [{"KG_HOOKS": "off"}, {"KG_CHORE": "1"}])
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_switched_off_nothing_is_started(home, log, silent, variables, event):
    _kg(home, log, "exit 1")
    assert home.run("claude", event, **variables) == silent
    assert _starts(log) == []


def test_the_program_beside_the_script_comes_before_the_path(sh_home, folder):
    log = folder / "starts"
    sh_home.program("kg", STARTS.format(log=folder / "wrong", then="exit 1"))
    beside = folder / "inst alled"
    beside.mkdir()
    script = beside / "kg-hook"
    script.symlink_to(sh_home.command[0])
    (beside / "kg").write_text(STARTS.format(log=log, then="exit 1"), encoding="utf-8")
    (beside / "kg").chmod(0o755)
    sh_home.command = [str(script)]
    sh_home.run("claude", "SessionStart")
    assert _starts(log) == ["start"]
    assert not (folder / "wrong").exists()


def test_an_installed_script_finds_its_python_part(sh_home, folder):
    log = folder / "starts"
    prefix = folder / "prefix"
    packages = prefix / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (prefix / "bin").mkdir()
    repository = Path(sh_home.command[0]).parents[1]
    for name in ("hooks", "shim", "kg"):
        (packages / name).symlink_to(repository / name)
    script = prefix / "bin/kg-hook"
    shutil.copy(sh_home.command[0], script)
    (prefix / "bin/kg").write_text(STARTS.format(log=log, then="exit 1"), encoding="utf-8")
    (prefix / "bin/kg").chmod(0o755)
    (folder / "local bin").mkdir()
    (folder / "local bin/kg-hook").symlink_to(script)
    (folder / "local bin/kg").symlink_to(prefix / "bin/kg")
    sh_home.command = [str(folder / "local bin/kg-hook")]
    sh_home.run("claude", "SessionStart")
    assert _starts(log) == ["start"]


def test_without_its_python_part_the_script_asks_the_program(sh_home, folder):
    lone = folder / "lone"
    lone.mkdir()
    script = lone / "kg-hook"
    shutil.copy(sh_home.command[0], script)
    sh_home.program("kg", '#!/bin/sh\nprintf "%s|" "$@"; cat\n')
    sh_home.command = [str(script)]
    outcome = sh_home.run("claude", "SessionStart", stdin=b'{"a":1}\n')
    assert outcome.out == f'hook|--beside|{lone}|claude|SessionStart|{{"a":1}}\n'.encode()
