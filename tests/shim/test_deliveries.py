"""Acknowledgements: after the flush, ahead of the next message, once in effect."""

import asyncio
import subprocess
import sys

from tests.fakes.local_server import Reply, result
from tests.fakes.shim_process import MAIN
from tests.waiting import until


async def deliver(request):
    return result(request, Kg_Delivery=f"d-{request.message['id']}")


def carries_nothing(shim, server):
    """Send one more request; tell whether it went without acknowledgements. It leaves no delivery itself."""

    async def plain(request):
        return result(request)

    server.answer = plain
    shim.send("ping", "probe")
    shim.answer()
    return "kg-acked" not in server.of("ping")[-1].headers


def test_a_read_is_acknowledged_before_the_message_that_follows_it(shim, server):
    server.answer = deliver
    for ident in range(20):
        shim.send("tools/call", ident)
        assert shim.answer()["id"] == ident
    calls = [number for number, (kind, _) in enumerate(server.log) if kind == "call"]
    for ident in range(19):
        assert server.log.index(("ack", f"d-{ident}")) < calls[ident + 1]


def test_an_acknowledgement_goes_alone_when_nothing_else_goes_out(shim, server):
    server.answer = deliver
    shim.send("tools/call", 1)
    shim.answer()
    until(lambda: server.acks() == ["d-1"])
    assert server.requests[-1].path == "/deliveries/ack"
    until(lambda: carries_nothing(shim, server))
    assert server.acks()[0] == "d-1"


def test_the_last_acknowledgement_is_sent_before_the_shim_ends(shim, server):
    server.answer = deliver
    shim.send("tools/call", 1)
    code, rest, errors = shim.end()
    assert (code, len(rest), errors) == (0, 1, b"")
    assert server.acks() == ["d-1"]


def test_a_reply_that_did_not_get_out_whole_is_not_acknowledged(server):
    async def large(request):
        return Reply(result(request, {"t": "x" * 1_000_000}).body, headers={"Kg-Delivery": "d-large"})

    server.answer = large
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-E", str(MAIN)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"KG_STORAGE": str(server.root)},
    )
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n')
    process.stdin.flush()
    assert process.stdout.read(1000)
    server.answer = deliver
    process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"tools/call"}\n')
    process.stdin.flush()
    until(lambda: len(server.of("tools/call")) == 2)
    process.stdout.close()
    assert process.wait(10) == 0
    process.stdin.close()
    assert server.acks() == []


def test_a_cancelled_reply_is_not_acknowledged(shim, server):
    release = asyncio.Event()

    async def held(request):
        if request.message["id"] == 1:
            await release.wait()
        return await deliver(request)

    server.answer = held
    shim.send("tools/call", 1)
    until(lambda: server.requests)
    shim.send("notifications/cancelled", params={"requestId": 1})
    until(lambda: server.cancelled)
    shim.send("tools/call", 2)
    shim.answer()
    shim.end()
    assert server.acks() == ["d-2"]


def test_an_acknowledgement_that_was_not_answered_is_sent_again(shim, server):
    server.answer = deliver
    server.ack_status = 503
    shim.send("tools/call", 1)
    shim.answer()
    until(lambda: sum(r.path == "/deliveries/ack" for r in server.requests) >= 2)
    server.ack_status = 200
    until(lambda: server.acks() == ["d-1"])


def test_an_acknowledgement_survives_a_restart_of_the_service(shim, server):
    server.answer = deliver
    server.ack_status = 503
    shim.send("tools/call", 1)
    shim.answer()
    server.stop(announced=True)
    server.ack_status = 200
    server.start()
    until(lambda: "d-1" in server.acks())


def test_an_acknowledgement_that_the_service_refuses_is_dropped(shim, server):
    server.answer = deliver
    server.ack_status = 404
    shim.send("tools/call", 1)
    shim.answer()
    until(lambda: any(r.path == "/deliveries/ack" for r in server.requests))
    until(lambda: carries_nothing(shim, server))
    assert shim.end()[0] == 0


def test_a_write_that_overtakes_a_lone_acknowledgement_carries_it_too(shim, server):
    server.answer = deliver
    holding = asyncio.Event()
    answer = server._reply

    async def slow_ack(request):
        if request.path == "/deliveries/ack":
            await holding.wait()
        return await answer(request)

    server._reply = slow_ack
    shim.send("tools/call", 1)
    shim.answer()
    until(lambda: any(r.path == "/deliveries/ack" for r in server.requests))
    shim.send("tools/call", 2)
    shim.answer()
    assert server.of("tools/call")[1].headers["kg-acked"] == "d-1"


def test_a_delivery_id_that_could_break_a_header_is_ignored(shim, server):
    async def odd(request):
        return result(request, Kg_Delivery="a,b c")

    server.answer = odd
    shim.send("tools/call", 1)
    shim.answer()
    shim.send("tools/call", 2)
    shim.answer()
    shim.end()
    assert server.acks() == []
