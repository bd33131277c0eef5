"""A lean load generator: N keep-alive connections from one process, each with one request under way.

Requests are made beforehand and answers are only scanned for their length and for isError, so that the generator costs
little beside the server that it measures.
"""

import json
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Door:
    """Where to send requests: a Unix socket's path, or a TCP port with its token."""

    path: str | None = None
    port: int | None = None
    token: str = ""

    def connect(self) -> socket.socket:
        """A connection."""
        if self.path is not None:
            one = socket.socket(socket.AF_UNIX)
            one.connect(self.path)
            return one
        one = socket.create_connection(("127.0.0.1", self.port or 0))
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return one

    def request(self, tool: str, arguments: dict[str, Any]) -> bytes:
        """The bytes of a tool call."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        body = json.dumps(message).encode()
        where = "/rpc" if self.path is not None else "/mcp"
        head = (
            f"POST {where} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run measured: requests per second, and percentiles of the time to an answer in milliseconds."""

    per_second: float
    p50_ms: float
    p99_ms: float


def drive(door: Door, scripts: Sequence[Iterator[bytes]]) -> Figures:
    """Send each script over a connection of its own, all at once, one request after the other."""
    selector = selectors.DefaultSelector()
    taken: list[float] = []
    began = time.perf_counter()
    open_count = 0
    for script in scripts:
        one = door.connect()
        state = _Connection(one, script)
        if state.send():
            selector.register(one, selectors.EVENT_READ, state)
            open_count += 1
    while open_count:
        for key, _ in selector.select():
            state = key.data
            if not state.receive(taken):
                continue
            if not state.send():
                selector.unregister(key.fileobj)
                state.socket.close()
                open_count -= 1
    elapsed = time.perf_counter() - began
    taken.sort()
    return Figures(len(taken) / elapsed, _percentile(taken, 0.5), _percentile(taken, 0.99))


def _percentile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))] * 1000


class _Connection:
    def __init__(self, one: socket.socket, script: Iterator[bytes]) -> None:
        self.socket = one
        self._script = script
        self._began = 0.0
        self._held = b""

    def send(self) -> bool:
        """Send the next request; False at the end of the script."""
        data = next(self._script, None)
        if data is None:
            return False
        self._began = time.perf_counter()
        self.socket.sendall(data)
        return True

    def receive(self, taken: list[float]) -> bool:
        """Read; True when the answer is complete."""
        self._held += self.socket.recv(65_536)
        head, found, rest = self._held.partition(b"\r\n\r\n")
        if not found:
            return False
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(rest) < length:
            return False
        if b'"isError":false' not in rest:
            raise SystemExit(f"the service refused: {rest[:300]!r}")
        taken.append(time.perf_counter() - self._began)
        self._held = rest[length:]
        return True
