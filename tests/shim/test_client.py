"""The blocking client, and the reply reader that it shares with the shim."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.client import request
from shim.http1 import MalformedReply, ReplyReader
from tests.fakes.local_server import Reply
from tests.fakes.shim_process import MAIN, REPOSITORY

REPLIES = {
    "sized": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKg-Delivery:  d \r\n\r\nhello", True),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: 1\r\n\r\n",
        True,
    ),
    "closing": (b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 5\r\n\r\nhello", False),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", False),
    "after a 103": (b"HTTP/1.1 103 Early\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", True),
    "with more behind": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP", False),
}


@pytest.mark.parametrize("name", REPLIES)
@given(data=st.data())
def test_a_reply_reads_the_same_in_any_pieces(name, data):
    raw, reusable = REPLIES[name]
    reader = ReplyReader()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=6)))
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        if not reader.done:
            reader.feed(raw[start:end])
    assert (reader.done, reader.status, reader.body) == (True, 200, b"hello")
    if not cuts:
        assert reader.reusable == reusable


def test_a_reply_without_a_length_ends_with_its_connection():
    reader = ReplyReader()
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\nhel")
    reader.feed(b"lo")
    assert not reader.done
    reader.close()
    assert (reader.done, reader.body, reader.reusable) == (True, b"hello", False)


@pytest.mark.parametrize(
    "raw",
    [b"nonsense\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", b"x" * 70_000],
)
def test_what_is_not_http_is_refused(raw):
    with pytest.raises(MalformedReply):
        ReplyReader().feed(raw)


def test_a_request_returns_status_headers_and_body(server):
    reply = request("GET", "/health", socket_path=str(server.socket_path), timeout_s=10)
    assert (reply.status, reply.body) == (200, b'{"status":"ok"}')
    body = '{"jsonrpc":"2.0","id":1,"method":"ü"}'.encode()
    reply = request("POST", "/rpc", body, [("Kg-Acked", "d")], socket_path=str(server.socket_path), timeout_s=10)
    assert reply.headers["content-length"] == str(len(reply.body))
    assert server.acks() == ["d"]


def test_a_service_that_is_silent_gone_or_cut_off_is_an_os_error(server):
    path = str(server.socket_path)
    body = b'{"id":1,"method":"x"}'

    async def silent(request):
        await asyncio.Event().wait()

    async def cut(request):
        return Reply(b"0123456789", cut_at=45)

    server.answer = silent
    with pytest.raises(TimeoutError):
        request("POST", "/rpc", body, socket_path=path, timeout_s=0.1)
    server.answer = cut
    with pytest.raises(ConnectionError):
        request("POST", "/rpc", body, socket_path=path, timeout_s=10)
    server.stop()
    with pytest.raises(FileNotFoundError):
        request("POST", "/rpc", body, socket_path=path, timeout_s=10)


PROBE = """
import sys
before = set(sys.modules)
sys.path.insert(0, {root!r})
from shim import {module}
new = [sys.modules[name] for name in sys.modules if name not in before]
print(*(m.__name__ for m in new if not getattr(m, "__file__", None) or not m.__file__.endswith(".so")))
"""
OURS = {"kg", "kg.limits", "kg.rpc"}


@pytest.mark.parametrize("module", ["relay", "client", "root"])
def test_the_shim_the_client_and_the_root_rule_import_only_c_modules_and_our_own(module):
    code = PROBE.format(root=str(REPOSITORY), module=module)
    done = subprocess.run([sys.executable, "-I", "-S", "-E", "-c", code], capture_output=True, check=True, text=True)
    others = {name for name in done.stdout.split() if name.partition(".")[0] != "shim"}
    assert others - set(sys.builtin_module_names) <= OURS


def test_nothing_more_is_imported_while_the_shim_works(server):
    lines = b'\xff\n{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n[]\n'
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-E", "-X", "importtime", str(MAIN)],
        input=lines,
        capture_output=True,
        check=True,
        env={"KG_STORAGE": str(server.root)},
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "shim.relay" in imported
    assert not imported & {
        "json",
        "re",
        "os",
        "site",
        "enum",
        "socket",
        "typing",
        "dataclasses",
        "collections",
        "subprocess",
    }
    assert done.stdout.count(b"\n") == 3


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads /proc")
def test_the_installed_script_becomes_the_small_interpreter(server):
    code = "import shim.launch; shim.launch.main()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        env={"KG_STORAGE": str(server.root), "PATH": os.defpath},
    ) as process:
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert b'"id": 1' in process.stdout.readline()
        assert str(MAIN).encode() in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        process.stdin.close()
        assert process.wait(10) == 0
