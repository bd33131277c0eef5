"""The application driven event by event, for what a finished request cannot show: order, time, what is never read."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any

from tests.web.conftest import PORT, TOKEN

TURNS = 10_000
Receive = Callable[[], Awaitable[dict[str, Any]]]


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        self.jumped_s = 0.0
        super().__init__(JumpingSelector(self))

    def time(self) -> float:
        return super().time() + self.jumped_s


class JumpingSelector(selectors.SelectSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0 if timeout else timeout)
        if not ready and timeout:
            self._loop.jumped_s += timeout
        return ready


class Exchange:
    """One request, and everything that was sent in answer. `receive` may be replaced."""

    def __init__(self, method: str, path: str, body: bytes | None = None, *, tcp: bool = False, **headers: Any) -> None:
        given = {"Content-Type": "application/json", "Host": f"127.0.0.1:{PORT}", "Authorization": f"Bearer {TOKEN}"}
        if body is not None:
            given["Content-Length"] = str(len(body))
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        self.headers = [(name.lower().encode(), value.encode()) for name, value in given.items() if value is not None]
        self.scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
            "raw_path": path.encode(), "query_string": b"", "scheme": "http", "client": None, "headers": self.headers,
            "server": ("127.0.0.1", PORT) if tcp else ("/run/kg.sock", None),
        }  # fmt: skip
        self._body = body or b""
        self._given = False
        self.receive: Receive = self._whole_body
        self.sent: list[dict[str, Any]] = []

    async def _whole_body(self) -> dict[str, Any]:
        if self._given:
            await asyncio.Event().wait()
        self._given = True
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, event: dict[str, Any]) -> None:
        self.sent.append(event)

    async def run(self, app: Any) -> "Exchange":
        await app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(event.get("body", b"") for event in self.sent[1:])

    def header(self, name: str) -> str | None:
        return dict(self.sent[0]["headers"]).get(name.encode(), b"").decode() or None


async def turn_until(condition: Callable[[], Any]) -> None:
    """Give the loop turns until the condition holds; nothing here waits for anything outside, so turns are enough."""
    for _ in range(TURNS):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"nothing came of {condition} within {TURNS} turns")
