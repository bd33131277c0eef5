"""The real shim against a real local server: lines, ids, order, cancelling, the end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.fakes.local_server import Reply, result
from tests.fakes.shim_process import MAIN, ShimProcess
from tests.waiting import until


class Gate:
    """Lets answers out one by one, by the request's id."""

    def __init__(self):
        self._open = set()
        self._lock = threading.Lock()

    def open(self, *idents):
        with self._lock:
            self._open.update(idents)

    async def answer(self, request):
        while request.message["id"] not in self._open:  # noqa: ASYNC110 - the test opens it from another thread
            await asyncio.sleep(0.005)
        return result(request)


def test_each_request_gets_the_servers_reply_on_one_line(shim, server):
    shim.send("tools/list", 1)
    assert shim.answer() == {"jsonrpc": "2.0", "id": 1, "result": {"echo": "tools/list"}}
    assert shim.end() == (0, [], b"")
    assert [r.path for r in server.requests] == ["/rpc"]
    assert server.requests[0].headers["kg-ack"] == "1"


@pytest.mark.parametrize(
    "ident", ["0", "-7", "1.50", "123456789012345678901234567890", '"0"', '""', '"\\u00fc\\ud83d\\ude00"', "1e3"]
)
def test_an_id_of_any_kind_comes_back_as_it_was_written(down, ident):
    down.root.mkdir()
    with ShimProcess(down.root, KG_STORAGE="relative") as shim:  # unreachable: the shim has to write the id itself
        shim.write(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % ident.encode())
        line = shim.line()
    assert f'"id":{ident},'.encode() in line
    assert json.loads(line)["error"]["code"] == -32603


def test_invalid_bytes_are_one_parse_error_and_the_next_line_is_served(shim):
    shim.write(b'\xff\xfe\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    bad = shim.answer()
    assert (bad["id"], bad["error"]["code"]) == (None, -32700)
    assert shim.answer()["id"] == 1
    assert shim.end() == (0, [], b"")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"garbage", -32700),
        (b"{", -32700),
        (b'{"id":1} {"id":2}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":NaN}}', -32700),
        (b"[" * 100_000, -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/call"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"tools/call"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"tools/call"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
    ],
)
def test_a_line_that_is_no_request_is_refused_with_id_null_and_not_sent_on(shim, server, line, code):
    shim.write(line + b"\n")
    answer = shim.answer()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert shim.end() == (0, [], b"")
    assert not server.requests


def test_notifications_and_answers_of_the_client_get_nothing(shim, server):
    for method in ("notifications/initialized", "notifications/unknown", "notifications/cancelled"):
        shim.send(method)
    shim.write(b'{"jsonrpc":"2.0","id":9,"result":{}}\n\n  \r\n')
    shim.send("ping", 1)
    assert shim.answer()["id"] == 1
    assert shim.end() == (0, [], b"")
    assert [r.message["method"] for r in server.requests] == ["ping"]


def test_half_lines_carriage_returns_and_a_last_line_without_end_are_taken(shim):
    for part in (
        b'{"jsonrpc":"2.0",',
        b'"id":1,\r',
        b'"method":"pi',
        b'ng"}\r\n{"jsonrpc":"2.0","id":2,"method":"ping"}',
    ):
        shim.write(part)
    assert shim.answer()["id"] == 1
    code, rest, _ = shim.end()
    assert (code, [json.loads(line)["id"] for line in rest]) == (0, [2])


def test_a_line_of_five_megabytes_and_its_reply_of_the_same_size_pass_unchanged(shim, server):
    text = "ü€😀x" * 500_000

    async def back(request):
        return result(request, request.message["params"])

    server.answer = back
    shim.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"t": text}}, ensure_ascii=False).encode()
        + b"\n"
    )
    assert shim.answer()["result"] == {"t": text}


def test_a_line_beyond_the_limit_is_refused_once_and_the_next_is_served(shim):
    shim.write(b'{"x":"' + b"a" * (17 * 1024 * 1024) + b'"}\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert shim.answer()["error"]["code"] == -32700
    assert shim.answer()["id"] == 1


def test_line_ends_inside_a_reply_do_not_break_the_line(shim, server):
    async def pretty(request):
        return Reply(
            json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"a": "b\n"}}, indent=1).replace("\n", "\r\n").encode()
        )

    server.answer = pretty
    shim.send("ping", 1)
    assert shim.answer()["result"] == {"a": "b\n"}
    assert shim.end() == (0, [], b"")


def test_eight_requests_run_at_once_and_are_answered_as_they_finish(shim, server):
    gate = Gate()
    server.answer = gate.answer
    for ident in range(8):
        shim.send("tools/call", ident)
    until(lambda: len(server.requests) == 8)
    for ident in (5, 0, 7, 1, 6, 2, 4, 3):
        gate.open(ident)
        assert shim.answer()["id"] == ident
    gate.open(8)
    shim.send("tools/call", 8)
    assert shim.answer()["id"] == 8
    assert server.requests[-1].connection <= 8, "an idle connection is used again"
    assert len({r.headers["kg-request"] for r in server.requests}) == 9


def test_more_requests_than_run_at_once_wait_their_turn_and_can_still_be_cancelled(shim, server):
    gate = Gate()
    server.answer = gate.answer
    shim.write(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % n for n in range(300)))
    until(lambda: len(server.requests) == 64)
    shim.send("notifications/cancelled", params={"requestId": 299})
    shim.send("notifications/cancelled", params={"requestId": 0})
    until(lambda: server.cancelled)
    gate.open(*range(300))
    assert sorted(shim.answer()["id"] for _ in range(298)) == list(range(1, 299))
    assert shim.end() == (0, [], b"")
    assert len(server.requests) == 299


def test_a_cancelled_call_is_hung_up_on_and_never_answered(shim, server):
    gate = Gate()
    gate.open("1", 2)
    server.answer = gate.answer
    shim.send("tools/call", 1)
    until(lambda: server.requests)
    shim.send("notifications/cancelled", params={"requestId": "1"})  # another id
    shim.send("notifications/cancelled", params={"requestId": 1, "reason": "changed my mind"})
    until(lambda: server.cancelled == 1)
    gate.open(1)
    shim.send("ping", 2)
    assert shim.answer()["id"] == 2
    assert shim.end() == (0, [], b"")


def test_a_second_cancel_or_one_for_an_answered_call_is_harmless(shim):
    shim.send("ping", 1)
    assert shim.answer()["id"] == 1
    shim.send("notifications/cancelled", params={"requestId": 1})
    shim.send("notifications/cancelled", params={"requestId": 1})
    shim.send("ping", 2)
    assert shim.answer()["id"] == 2


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_a_json_rpc_error_is_passed_on_whatever_its_status(shim, server, status):
    async def refuse(request):
        return Reply(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"busy","data":[1]}}', status=status)

    server.answer = refuse
    shim.send("tools/call", 1)
    assert shim.answer()["error"] == {"code": -32001, "message": "busy", "data": [1]}
    assert len(server.requests) == 1


def test_an_error_with_id_null_still_answers_the_call(shim, server):
    async def refuse(request):
        return Reply(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}', status=400)

    server.answer = refuse
    shim.send("tools/call", "a")
    assert shim.answer() == {"jsonrpc": "2.0", "id": "a", "error": {"code": -32700, "message": "Parse error"}}


@pytest.mark.parametrize(
    "reply", [Reply(b"<html>", status=502), Reply(b"oops", status=200), Reply(status=202), Reply(b"{}", status=500)]
)
def test_a_reply_that_is_no_message_becomes_an_internal_error(shim, server, reply):
    async def strange(request):
        return reply

    server.answer = strange
    shim.send("tools/call", 1)
    answer = shim.answer()
    assert (answer["id"], answer["error"]["code"]) == (1, -32603)
    assert str(reply.status) in answer["error"]["message"]


def test_chunked_and_closing_replies_are_read(shim, server):
    async def both(request):
        plain = result(request)
        return Reply(plain.body, chunked=request.message["id"] == 1, close=request.message["id"] == 2)

    server.answer = both
    for ident in (1, 2, 3):
        shim.send("ping", ident)
        assert shim.answer()["result"] == {"echo": "ping"}


def test_the_end_of_stdin_waits_for_running_calls(shim, server):
    gate = Gate()
    server.answer = gate.answer
    shim.send("tools/call", 1)
    until(lambda: server.requests)
    shim.process.stdin.close()
    gate.open(1)
    code, rest, errors = shim.end()
    assert (code, len(rest), errors) == (0, 1, b"")


def test_a_client_that_stops_reading_ends_the_shim(server):
    gate = Gate()
    server.answer = gate.answer
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-E", str(MAIN)],
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={"KG_STORAGE": str(server.root)},
    )
    os.close(theirs)
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    until(lambda: server.requests)
    os.close(ours)
    assert process.wait(10) == 0
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_a_killed_client_ends_the_shim(server):
    code = (
        "import subprocess, sys, time\n"
        "pipe = subprocess.PIPE\n"
        f"shim = [sys.executable, '-I', '-S', '-E', {str(MAIN)!r}]\n"
        "print(subprocess.Popen(shim, stdin=pipe, stdout=pipe).pid, flush=True)\n"
        "time.sleep(100)\n"
    )
    environ = {"KG_STORAGE": str(server.root)}
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environ)
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait(10)
    until(lambda: _gone(pid))
    parent.stdout.close()


def _gone(pid):
    try:
        return _state(pid) == "Z"
    except OSError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_an_idle_shim_sleeps(shim, server):
    shim.send("ping", 1)
    shim.answer()
    until(lambda: _state(shim.process.pid) == "S")


def _state(pid):
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


@pytest.mark.parametrize("arguments", [("--nope",), ("--proposal", "abc")])
def test_unknown_arguments_are_wrong_use(server, arguments):
    with ShimProcess(server.root, arguments=arguments) as shim:
        code, rest, errors = shim.end()
    assert (code, rest) == (2, [])
    assert arguments[0].encode() in errors
