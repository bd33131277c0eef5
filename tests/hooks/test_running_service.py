"""The hook and a service that runs: what goes there, what is printed, what is acknowledged."""

import json
import os
import signal
import subprocess
import threading

import pytest

from tests.fakes.hook_server import Reply, delivered
from tests.waiting import until

ANSWER = '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"ü 会 \\u0001\\n"}}\n\n'
HUNG_S = 5.0  # far above the hook's own 0.9 s, far below the time for which the server hangs


@pytest.fixture
def served(home):
    home.server.answer = lambda _: delivered(ANSWER)
    home.server.start()
    return home


def test_the_answer_is_printed_byte_for_byte_and_then_acknowledged(served):
    outcome = served.run("claude", "UserPromptSubmit")
    assert (outcome.code, outcome.out, outcome.err) == (0, ANSWER.encode(), b"")
    assert until(lambda: served.server.acknowledged) == ["d1"]


def test_stdin_arrives_unchanged_under_the_name_of_harness_and_event(served):
    raw = '{"prompt":"ü 会 \\ud83d\\ude00 \\\\ \'$(id)` \\n"}\n\n'.encode()
    served.run("codex", "PostToolUse", stdin=raw)
    request = served.server.hooks[0]
    assert (request.path, request.body) == ("/hooks/codex/PostToolUse", raw)
    assert request.headers["content-type"] == "application/json"
    assert request.headers["kg-ack"] == "1"
    assert "kg-project-root" not in request.headers


@pytest.mark.parametrize(("event", "least", "most"), [("UserPromptSubmit", 500, 900), ("SessionStart", 3000, 4000)])
def test_the_service_is_told_how_long_the_hook_waits(served, event, least, most):
    served.run("claude", event)
    assert least < int(served.server.hooks[0].headers["kg-deadline-ms"]) < most


@pytest.mark.parametrize(("folder_", "sent"), [("/srv/app", "/srv/app"), ("/srv/ü b", "/srv/%C3%BC%20b")])
def test_a_configured_project_root_goes_along(served, folder_, sent):
    served.run("claude", "UserPromptSubmit", KG_PROJECT_ROOT=folder_)
    assert served.server.hooks[0].headers["kg-project-root"] == sent


@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart"])
def test_two_megabytes_of_stdin_arrive_whole(served, event):
    raw = json.dumps({"prompt": "words " * 350_000}).encode()
    assert served.run("claude", event, stdin=raw).out == ANSWER.encode()
    assert served.server.hooks[0].body == raw


def test_an_answer_of_100_kilobytes_is_printed_whole(served):
    text = json.dumps({"systemMessage": "ü" * 50_000}, ensure_ascii=False)
    served.server.answer = lambda _: delivered(text)
    assert served.run("claude", "SessionStart").out == text.encode()


@pytest.mark.parametrize("stdin", [b"", b'{"prompt":"x', b"\xff\xfe\x00", b"[1]"])
@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart"])
def test_broken_stdin_is_the_servers_to_judge_and_the_next_event_works(served, silent, stdin, event):
    served.server.answer = lambda _: Reply()
    assert served.run("claude", event, stdin=stdin) == silent
    served.server.answer = lambda _: delivered(ANSWER)
    assert served.run("claude", "UserPromptSubmit").out == ANSWER.encode()


@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart"])
def test_a_closed_stdin_prints_nothing(served, silent, event):
    served.server.answer = lambda _: Reply()
    process = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *served.command, "claude", event],
        capture_output=True, env=served.environ(), timeout=60, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout, process.stderr) == (silent.code, silent.out, silent.err)


def test_an_empty_answer_prints_nothing_and_acknowledges_nothing(served, silent):
    served.server.answer = lambda _: Reply()
    assert served.run("claude", "UserPromptSubmit") == silent
    assert served.server.acknowledged == []


@pytest.mark.parametrize("status", [404, 413, 429, 500, 503])
def test_an_error_status_prints_nothing_and_acknowledges_nothing(served, silent, status):
    served.server.answer = lambda _: Reply(b'{"error":"x"}', status=status, headers={"Kg-Delivery": "d1"})
    assert served.run("claude", "UserPromptSubmit") == silent
    assert served.server.acknowledged == []


@pytest.mark.parametrize("delivery", ['d"],"x":["', "d 1", "ü", "$(id)"])
def test_a_delivery_id_that_does_not_look_like_one_is_left_alone(served, delivery):
    served.server.answer = lambda _: Reply(b"text", headers={"Kg-Delivery": delivery})
    assert served.run("claude", "UserPromptSubmit").out == b"text"
    assert served.server.acknowledged == []


@pytest.mark.parametrize("words", [("claude", "../../rpc"), ("cl aude", "Stop"), ("claude",), (), ("a", "b", "c")])
def test_words_that_name_no_hook_are_not_sent(served, silent, words):
    assert served.run(*words) == silent
    assert served.server.requests == []


# --- a server that does not answer ---------------------------------------------------------------------------------


def test_a_server_that_accepts_and_never_answers_costs_a_second_at_most(served, silent, took):
    served.server.answer = lambda _: None
    outcomes = []
    assert took(lambda: outcomes.append(served.run("claude", "UserPromptSubmit"))) < HUNG_S
    assert outcomes == [silent]
    assert served.server.acknowledged == []


def test_a_stdin_that_never_ends_does_not_hold_up_the_python_hook(python_home):
    # In the script curl reads all its input before its clock starts; there the client's own limit ends it.
    process = python_home.start("claude", "UserPromptSubmit")
    assert process.wait(HUNG_S) == 0
    assert process.stdout.read() == b""
    process.communicate()


def test_a_hook_killed_before_it_prints_acknowledges_nothing(served):
    answering = threading.Event()
    served.server.answer = lambda _: answering.wait(30) and delivered(ANSWER)
    process = served.start("claude", "SessionStart")
    process.stdin.write(b"{}")
    process.stdin.close()
    until(lambda: served.server.hooks)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    answering.set()
    served.server.answer = lambda _: delivered("next", "d2")
    assert served.run("claude", "UserPromptSubmit").out == b"next"
    assert until(lambda: served.server.acknowledged) == ["d2"]
    process.stdout.close()
    process.stderr.close()


def test_a_client_that_stopped_reading_gets_nothing_acknowledged(served):
    process = served.start("claude", "UserPromptSubmit")
    process.stdout.close()
    process.stdin.write(b"{}")
    process.stdin.close()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    process.stderr.close()
    served.server.answer = lambda _: delivered("next", "d2")
    served.run("claude", "UserPromptSubmit")
    assert until(lambda: served.server.acknowledged) == ["d2"]


# --- standing down, and finding the way ----------------------------------------------------------------------------


@pytest.mark.parametrize("variables", [{"KG_HOOKS": "off"}, {"KG_CHORE": "1"}])
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_switched_off_nothing_is_sent(served, silent, variables, event):
    assert served.run("claude", event, **variables) == silent
    assert served.server.requests == []


@pytest.mark.parametrize(
    ("variables", "harness"),
    [
        ({"CLAUDECODE": "1"}, "claude"),
        ({"CLAUDECODE": "1", "CLAUDE_PLUGIN_ROOT": "/p", "CODEX_HOME": "/c"}, "claude"),
        ({"CODEX_HOME": "/c"}, "codex"),
        ({"PLUGIN_ROOT": "/p", "CLAUDE_PLUGIN_ROOT": "/p"}, "codex"),
        ({"PLUGIN_ROOT": "/p", "CLAUDE_PLUGIN_ROOT": "/p", "CLAUDECODE": "1"}, "codex"),
    ],
)
def test_auto_tells_the_client_from_its_environment(served, variables, harness):
    served.run("auto", "UserPromptSubmit", **variables)
    assert served.server.hooks[0].path == f"/hooks/{harness}/UserPromptSubmit"


def test_auto_without_a_sign_of_a_client_sends_nothing(served, silent):
    assert served.run("auto", "UserPromptSubmit") == silent
    assert served.server.requests == []


def _move_root(home, root):
    (root.parent).mkdir(parents=True, exist_ok=True)
    home.root.rename(root)


def test_the_storage_variable_comes_first(served, folder):
    _move_root(served, folder / "elsewhere")
    assert served.run("claude", "UserPromptSubmit", KG_STORAGE=str(folder / "elsewhere")).out == ANSWER.encode()


def test_the_storage_variable_may_start_with_a_tilde(served):
    _move_root(served, served.path / "my memory")
    assert served.run("claude", "UserPromptSubmit", KG_STORAGE="~/my memory").out == ANSWER.encode()


@pytest.mark.parametrize("end", ["", "\n", " \r\n", "\nmore\n"])
@pytest.mark.parametrize("where", [None, "conf"])
def test_the_line_that_setup_wrote_comes_second(served, folder, end, where):
    _move_root(served, folder / "else where")
    variables = {} if where is None else {"XDG_CONFIG_HOME": str(folder / where)}
    line = (served.path / ".config" if where is None else folder / where) / "kg/root"
    line.parent.mkdir(parents=True)
    line.write_bytes(f"{folder}/else where{end}".encode())
    assert served.run("claude", "UserPromptSubmit", **variables).out == ANSWER.encode()


def test_the_data_folder_comes_last(served, folder):
    _move_root(served, folder / "data/kg")
    assert served.run("claude", "UserPromptSubmit", XDG_DATA_HOME=str(folder / "data")).out == ANSWER.encode()


def test_a_relative_data_folder_counts_as_none(served):
    assert served.run("claude", "UserPromptSubmit", XDG_DATA_HOME="data").out == ANSWER.encode()


def test_an_odd_home_and_socket_work(odd_home, folder):
    odd_home.server.socket_path = folder / "run/ü 会/s.sock"
    odd_home.server.answer = lambda _: delivered(ANSWER)
    odd_home.server.start()
    for event in ("SessionStart", "UserPromptSubmit"):
        assert odd_home.run("claude", event).out == ANSWER.encode()


def test_a_one_line_server_file_is_read_too(served):
    served.server.announce(indent=None)
    assert served.run("claude", "UserPromptSubmit").out == ANSWER.encode()


@pytest.mark.parametrize("text", ["", "{", '{"socket": 5}', '{"socket": "', "\x00\xff", '{"socket": "relative"}'])
def test_a_damaged_server_file_is_no_server(served, silent, text):
    (served.root / "run/server.json").write_text(text, encoding="utf-8")
    served.program("kg", "#!/bin/sh\nexit 1\n")
    assert served.run("claude", "UserPromptSubmit") == silent
    assert served.server.requests == []


def test_a_path_of_200_characters_works(served, folder):
    deep = folder / ("d" * 100) / ("e" * 100)
    _move_root(served, deep)
    assert served.run("claude", "UserPromptSubmit", KG_STORAGE=str(deep)).out == ANSWER.encode()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_socket_of_another_user_is_not_ours(served, silent):
    os.chown(served.server.socket_path, 12345, 12345)
    served.program("kg", "#!/bin/sh\nexit 1\n")
    assert served.run("claude", "UserPromptSubmit") == silent
    assert served.server.requests == []


def test_without_curl_python_does_it(sh_home, silent):
    sh_home.server.answer = lambda _: delivered(ANSWER)
    sh_home.server.start()
    tools = sh_home.path.parent / "tools"
    tools.mkdir()
    for name, target in (
        ("python3", os.path.realpath("/proc/self/exe")),
        ("readlink", "/usr/bin/readlink"),
        ("sh", "/bin/sh"),
    ):
        (tools / name).symlink_to(target)
    for event in ("SessionStart", "UserPromptSubmit"):
        assert sh_home.run("claude", event, PATH=str(tools)).out == ANSWER.encode()
    assert until(lambda: len(sh_home.server.acknowledged) == 2)


def test_without_curl_and_python_it_is_silent(sh_home, silent):
    sh_home.server.start()
    empty = sh_home.path.parent / "empty"
    empty.mkdir()
    assert sh_home.run("claude", "UserPromptSubmit", PATH=str(empty)) == silent
