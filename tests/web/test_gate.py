"""What the guard promises about a request that is not whole: nothing refused is read, nobody waits for ever."""

import asyncio

import pytest

from kg.commands import Answer
from kg.limits import BODY_BYTES, BODY_WAIT_S, REQUESTS_UNDER_WAY
from tests.fakes.memory import RecordingMemory
from tests.web.asgi import Exchange, JumpingLoop, turn_until
from tests.web.conftest import Door

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
SYNC = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kg_sync","arguments":{"session_id":"1a2b3c4d"}}}'
)


async def never_read():
    raise AssertionError("a refused request was read")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/mcp", {"Authorization": None}, 401),
        ("/mcp", {"Authorization": "Bearer wrong"}, 401),
        ("/hooks/claude/SessionStart", {"Authorization": None}, 401),
        ("/mcp", {"Host": "evil.example"}, 421),
        ("/mcp", {"Host": None}, 421),
        ("/mcp", {"Origin": "null"}, 403),
        ("/mcp", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("/mcp", {"Content_Type": "text/plain"}, 415),
        ("/mcp", {"Content_Length": str(BODY_BYTES + 1)}, 413),
        ("/rpc", {}, 404),
        ("/nowhere", {}, 404),
        ("/hooks/nobody/SessionStart", {}, 404),
    ],
)
def test_a_refused_request_is_answered_although_its_body_never_came(door, path, headers, status):
    exchange = Exchange("POST", path, tcp=True, **{"Content_Length": "100", **headers})
    exchange.receive = never_read
    assert asyncio.run(exchange.run(door.app)).status == status


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
def test_mcp_refuses_other_methods_before_their_body(door, method):
    exchange = Exchange(method, "/mcp", tcp=True, Content_Type=None, Content_Length="100")
    exchange.receive = never_read
    asyncio.run(exchange.run(door.app))
    assert (exchange.status, exchange.header("allow")) == (405, "POST")


def drips():
    """A piece every so often, each in time by itself."""

    async def receive():
        await asyncio.sleep(BODY_WAIT_S / 4)
        return {"type": "http.request", "body": b" ", "more_body": True}

    return receive


def silence():
    async def receive():
        return await asyncio.Event().wait()

    return receive


@pytest.mark.parametrize("arrival", [silence, drips])
@pytest.mark.parametrize("path", ["/mcp", "/hooks/claude/SessionStart", "/deliveries/ack"])
def test_a_body_that_is_not_whole_in_time_is_given_up(door, memory, path, arrival):
    exchange = Exchange("POST", path, tcp=True, Content_Length="100")
    exchange.receive = arrival()
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(exchange.run(door.app))
        assert runner.get_loop().jumped_s == pytest.approx(BODY_WAIT_S, abs=1)
    assert exchange.status == 408
    assert (memory.commands, memory.acknowledged) == ([], [])


def test_a_body_of_unknown_length_is_read_up_to_the_limit_only(door, memory):
    piece = b" " * (BODY_BYTES // 4)
    pieces = []

    async def receive():
        pieces.append(piece)
        return {"type": "http.request", "body": piece, "more_body": True}

    exchange = Exchange("POST", "/mcp", tcp=True)
    exchange.receive = receive
    assert asyncio.run(exchange.run(door.app)).status == 413
    assert len(pieces) == 5
    assert memory.commands == []


def test_a_body_in_pieces_is_put_together(door):
    pieces = [PING[:1], PING[1:20], PING[20:]]

    async def receive():
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    exchange = Exchange("POST", "/rpc")
    exchange.receive = receive
    assert asyncio.run(exchange.run(door.app)).body == b'{"jsonrpc":"2.0","id":1,"result":{}}'


# --- how many --------------------------------------------------------------------------------------------------------


class WaitingMemory(RecordingMemory):
    """Answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def execute(self, command, caller):
        await super().execute(command, caller)
        await self.go.wait()
        return self.answer


async def fill(app, memory):
    """As many calls as may be under way, all of them waiting."""
    tasks = [asyncio.ensure_future(Exchange("POST", "/rpc", SYNC).run(app)) for _ in range(REQUESTS_UNDER_WAY)]
    await turn_until(lambda: len(memory.commands) == REQUESTS_UNDER_WAY)
    return tasks


def test_past_the_limit_a_request_is_told_to_try_again_and_later_served():
    async def scene():
        memory = WaitingMemory()
        app = Door(memory).app
        tasks = await fill(app, memory)
        refused = await Exchange("POST", "/rpc", PING).run(app)
        assert (refused.status, refused.header("retry-after")) == (429, "1")
        memory.go.set()
        assert {exchange.status for exchange in await asyncio.gather(*tasks)} == {200}
        assert (await Exchange("POST", "/rpc", PING).run(app)).status == 200

    asyncio.run(scene())


def test_requests_that_were_cancelled_no_longer_count():
    async def scene():
        memory = WaitingMemory()
        app = Door(memory).app
        for task in (tasks := await fill(app, memory)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (await Exchange("POST", "/rpc", PING).run(app)).status == 200

    asyncio.run(scene())


def test_a_request_that_waits_for_its_body_counts():
    async def scene():
        app = Door(RecordingMemory()).app
        held = asyncio.Event()

        async def receive():
            held_back.append(1)
            return await held.wait()

        held_back: list[int] = []
        tasks = []
        for _ in range(REQUESTS_UNDER_WAY):
            exchange = Exchange("POST", "/mcp", tcp=True, Content_Length="9")
            exchange.receive = receive
            tasks.append(asyncio.ensure_future(exchange.run(app)))
        await turn_until(lambda: len(held_back) == REQUESTS_UNDER_WAY)
        assert (await Exchange("GET", "/health").run(app)).status == 429
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(scene())


# --- when a reply counts as arrived ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body"),
    [("/mcp", SYNC), ("/rpc", SYNC), ("/hooks/claude/UserPromptSubmit", b'{"prompt":"x"}')],
)
def test_effects_hold_only_after_the_last_piece_went_to_the_socket(path, body):
    order = []

    class OrderedMemory(RecordingMemory):
        async def acknowledge(self, ids):
            order.append("acknowledged")
            return await super().acknowledge(ids)

    class OrderedExchange(Exchange):
        async def send(self, event):
            await asyncio.sleep(0)
            order.append(event["type"])
            self.sent.append(event)

    async def scene():
        memory = OrderedMemory(Answer("text", delivery="d-1"))
        await OrderedExchange("POST", path, body).run(Door(memory).app)
        await turn_until(lambda: memory.acknowledged)

    asyncio.run(scene())
    assert order == ["http.response.start", "http.response.body", "acknowledged"]


def test_effects_do_not_hold_when_the_socket_fails():
    class BrokenExchange(Exchange):
        async def send(self, event):
            raise OSError("gone")

    async def scene():
        memory = RecordingMemory(Answer("text", delivery="d-1"))
        with pytest.raises(OSError, match="gone"):
            await BrokenExchange("POST", "/rpc", SYNC).run(Door(memory).app)
        for _ in range(10):
            await asyncio.sleep(0)
        assert memory.acknowledged == []

    asyncio.run(scene())


# --- headers that stand twice --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "status"), [("host", 421), ("authorization", 401), ("origin", 403)])
def test_a_header_of_the_checks_that_stands_twice_is_refused(door, name, status):
    exchange = Exchange("POST", "/mcp", PING, tcp=True, Origin="http://127.0.0.1:7421")
    exchange.headers.append((name.encode(), dict(exchange.headers)[name.encode()]))
    assert asyncio.run(exchange.run(door.app)).status == status
