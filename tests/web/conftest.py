import json
from collections.abc import Sequence
from typing import Any

import pytest
from falcon.testing import TestClient

from tests.fakes.memory import RecordingMemory
from web.app import create_app
from web.tools import Tool

TOKEN = "t" * 64
PORT = 7421


async def nothing() -> None:
    """Start or stop nothing."""


class Door:
    """The application as a client on TCP (with the token) or on the Unix socket meets it."""

    def __init__(self, memory: RecordingMemory, *, extra_tools: Sequence[Tool] = ()) -> None:
        self.memory = memory
        self.app = create_app(
            lambda: memory, token=TOKEN, port=lambda: PORT, version="1.2.3", startup=nothing, shutdown=nothing,
            extra_tools=extra_tools,
        )  # fmt: skip
        self.client = TestClient(self.app)

    def tcp(self, method: str, path: str, body: Any = None, **headers: str | None) -> Any:
        return self._ask(method, path, body, headers, remote_addr="127.0.0.1", port=PORT)

    def local(self, path: str, body: Any = None, *, method: str = "POST", **headers: str | None) -> Any:
        return self._ask(method, path, body, headers, port=None)

    def _ask(self, method: str, path: str, body: Any, headers: dict[str, str | None], **place: Any) -> Any:
        given = {
            "Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}", "Host": f"127.0.0.1:{PORT}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }  # fmt: skip
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None:
            given["Content-Length"] = str(len(data))
        kept = [(name.lower().encode(), value.encode()) for name, value in given.items() if value is not None]
        scope = {"server": ("127.0.0.1", PORT) if place["port"] else ("/", "t"), "headers": kept}
        return self.client.simulate_request(method, path, body=data, extras=scope)

    def rpc(self, method: str, params: Any = None, *, request_id: Any = 1, **headers: str | None) -> Any:
        """A message through the shim's door."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}
        return self.local("/rpc", message, **headers)

    def call(self, tool: str, arguments: Any, **headers: str | None) -> Any:
        """A tool call through the shim's door; its result."""
        return self.rpc("tools/call", {"name": tool, "arguments": arguments}, **headers).json["result"]


@pytest.fixture
def memory() -> RecordingMemory:
    return RecordingMemory()


@pytest.fixture
def door(memory: RecordingMemory) -> Door:
    return Door(memory)
