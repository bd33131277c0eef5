"""A small local server on a Unix socket that keeps to the service's HTTP surface and does as a test tells it.

It answers /rpc, /deliveries/ack and /health, remembers what each Kg-Request key did (across its restarts, as the
journal would), applies `Kg-Acked` before the request that carries it, and logs everything in order. `answer` is the
script: it gets each /rpc request and returns a `Reply`, or None to hang up without one.
"""

import asyncio
import json
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def message(self) -> dict:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut_at: int | None = None  # hang up after so many bytes of the reply
    chunked: bool = False
    close: bool = False  # says Connection: close and does it


Answer = Callable[[Request], Awaitable[Reply | None]]


def result(request: Request, value: object = None, **headers: str) -> Reply:
    message = request.message
    body = {"jsonrpc": "2.0", "id": message["id"], "result": {"echo": message["method"]} if value is None else value}
    return Reply(json.dumps(body).encode(), headers={k.replace("_", "-"): v for k, v in headers.items()})


async def echo(request: Request) -> Reply | None:
    return result(request)


class LocalServer:
    """Use as a context manager, or `start` and `stop` it as often as the test wants."""

    def __init__(self, root: Path, socket_path: Path) -> None:
        self.root = root
        self.socket_path = socket_path
        self.answer: Answer = echo
        self.ack_status = 200
        self.requests: list[Request] = []
        self.log: list[tuple[str, str]] = []  # ("ack", delivery) and ("call", method), in the order of arrival
        self.executed: list[str] = []  # Kg-Request keys whose call was carried out
        self.cancelled = 0  # requests whose sender hung up before the answer
        self._done: dict[str, Reply] = {}
        self._connections = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping: asyncio.Event | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(ready)))
        self._thread.start()
        assert ready.wait(10)

    def stop(self, *, announced: bool = False) -> None:
        """Hang up on everybody and stop listening; `announced` leaves server.json behind, as kill -9 does."""
        if self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)
        self._thread = None
        if not announced:
            (self.root / "run/server.json").unlink()

    def acks(self) -> list[str]:
        return [value for kind, value in list(self.log) if kind == "ack"]

    def of(self, method: str) -> list[Request]:
        return [r for r in list(self.requests) if r.path == "/rpc" and r.message["method"] == method]

    async def _main(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self.socket_path.unlink(missing_ok=True)
        listener = await asyncio.start_unix_server(self._serve, path=str(self.socket_path), limit=16 * 1024 * 1024)
        (self.root / "run").mkdir(parents=True, exist_ok=True)
        record = {"pid": os.getpid(), "started": 1.5, "version": "0.1.0", "socket": str(self.socket_path)}
        record |= {"port": None, "root": str(self.root), "format": 1}
        (self.root / "run/server.json").write_text(json.dumps(record), encoding="utf-8")
        ready.set()
        await self._stopping.wait()
        listener.close()
        for writer in list(self._writers):
            writer.transport.abort()
        self.socket_path.unlink(missing_ok=True)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        self._writers.add(writer)
        try:
            while (request := await self._read(reader, number)) is not None:
                if not await self._handle(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, number: int) -> Request | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        except asyncio.IncompleteReadError:
            return None
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Request(head[0].split(" ")[1], headers, body, number)

    async def _handle(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.requests.append(request)
        self.log += [("ack", delivery) for delivery in request.headers.get("kg-acked", "").split(",") if delivery]
        answering = asyncio.ensure_future(self._reply(request))
        hung_up = asyncio.ensure_future(reader.read(1))  # the shim never pipelines: a byte here can only be the end
        await asyncio.wait({answering, hung_up}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            self.cancelled += 1
            answering.cancel()
            return False
        reply = answering.result()
        if reply is not None:
            _write(writer, reply)
            await writer.drain()
        hung_up.cancel()
        await asyncio.gather(hung_up, return_exceptions=True)
        return reply is not None and reply.cut_at is None and not reply.close

    async def _reply(self, request: Request) -> Reply | None:
        if request.path == "/health":
            return Reply(b'{"status":"ok"}')
        if request.path == "/deliveries/ack":
            if self.ack_status == 200:
                self.log += [("ack", delivery) for delivery in json.loads(request.body)["ids"]]
            return Reply(b'{"acknowledged":{}}', status=self.ack_status)
        self.log.append(("call", request.message["method"]))
        key = request.headers.get("kg-request")
        if key is None:
            return await self.answer(request)
        if key not in self._done:
            self.executed.append(key)
            self._done[key] = result(request)
        scripted = await self.answer(request)
        return self._done[key] if scripted == self._done[key] else scripted


def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    headers = dict(reply.headers)
    body = reply.body
    if reply.chunked:
        headers["Transfer-Encoding"] = "chunked"
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:])) + b"0\r\n\r\n"
    else:
        headers["Content-Length"] = str(len(body))
    if reply.close:
        headers["Connection"] = "close"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write((f"HTTP/1.1 {reply.status} Status\r\n{head}\r\n".encode("latin-1") + body)[: reply.cut_at])
