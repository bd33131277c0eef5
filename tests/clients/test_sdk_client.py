"""The MCP SDK's own client: each way to begin, over HTTP and through the shim, with one lesson written and found."""

import asyncio
import contextlib
import sys

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

MODES = ("legacy", "auto", "2026-07-28")
SPOKEN = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
TOOLS = [
    "kg_read", "kg_search", "kg_put_node", "kg_put_edge", "kg_rename_node", "kg_delete_node", "kg_delete_edge",
    "kg_useful", "kg_sync", "kg_progress",
]  # fmt: skip
GIST = "ü 会 🙂 the queue drops messages above 64 kB"
WITHIN_S = 60


@contextlib.asynccontextmanager
async def _over_http(service, mode):
    headers = {"Authorization": f"Bearer {service.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=WITHIN_S) as http,
        Client(
            streamable_http_client(f"http://127.0.0.1:{service.port}/mcp", http_client=http),
            mode=mode, read_timeout_seconds=WITHIN_S,
        ) as client,
    ):  # fmt: skip
        yield client


@contextlib.asynccontextmanager
async def _through_the_shim(service, mode):
    shim = StdioServerParameters(
        command=sys.executable, args=["-m", "supervisor.cli", "mcp"], env=service.env, cwd=service.base
    )
    async with Client(shim, mode=mode, read_timeout_seconds=WITHIN_S) as client:
        yield client


async def _text(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    (block,) = result.content
    assert not result.is_error, block.text
    return block.text


@pytest.fixture(params=[_over_http, _through_the_shim], ids=["http", "shim"])
def connect(request, service):
    def connected(mode):
        return request.param(service, mode)

    return connected


@pytest.mark.parametrize("mode", MODES)
def test_a_lesson_is_written_read_and_found(connect, service, mode):
    folder = service.base / "app"
    folder.mkdir()

    async def talk():
        async with connect(mode) as client:
            assert client.protocol_version == SPOKEN[mode]
            if mode != "2026-07-28":  # a client that names the version does not ask for an introduction
                assert client.instructions.startswith("kg is your long-term memory")
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            session = (await _text(client, "kg_read", cwd=str(folder))).rsplit("Session: ", 1)[1].strip()
            await _text(
                client, "kg_put_node", session_id=session, level="project", id="queue-drops-messages", gist=GIST,
                notes=["seen in May"],
            )  # fmt: skip
            read = await _text(client, "kg_read", session_id=session, id="queue-drops-messages")
            found = await _text(client, "kg_search", session_id=session, query="which messages are dropped")
            return read, found

    read, found = asyncio.run(asyncio.wait_for(talk(), WITHIN_S))
    assert GIST in read
    assert "seen in May" in read
    assert "queue-drops-messages" in found


@pytest.mark.parametrize("mode", MODES)
def test_a_refused_call_is_a_result_that_the_model_can_read(connect, mode):
    async def talk():
        async with connect(mode) as client:
            return await client.call_tool(
                "kg_put_node", {"session_id": "00000000", "level": "user", "id": "x", "gist": "y"}
            )

    result = asyncio.run(asyncio.wait_for(talk(), WITHIN_S))
    assert result.is_error
    assert result.content[0].text.startswith("Error (unknown-session): ")


def test_ten_calls_at_once_are_answered_each_with_its_own(connect, service):
    folder = service.base / "app"
    folder.mkdir()

    async def talk():
        async with connect("auto") as client:
            session = (await _text(client, "kg_read", cwd=str(folder))).rsplit("Session: ", 1)[1].strip()
            names = [f"call-number-{number}" for number in range(10)]
            await asyncio.gather(
                *(
                    _text(client, "kg_put_node", session_id=session, level="project", id=name, gist=f"gist of {name}")
                    for name in names
                )
            )
            texts = await asyncio.gather(*(_text(client, "kg_read", session_id=session, id=name) for name in names))
            return dict(zip(names, texts, strict=True))

    for name, text in asyncio.run(asyncio.wait_for(talk(), WITHIN_S)).items():
        assert f"gist of {name}" in text


def test_an_http_client_without_the_token_is_turned_away(service):
    answer = httpx2.post(
        f"http://127.0.0.1:{service.port}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        timeout=WITHIN_S,
    )
    assert answer.status_code == 401
