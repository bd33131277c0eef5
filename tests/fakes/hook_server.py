"""A small server for hooks on a Unix socket: it remembers every request and answers as `answer` says.

`answer` gets each /hooks request and returns a `Reply`, or None to keep the connection open without a word until the
server stops. `start` announces it in run/server.json as the service would.
"""

import json
import os
import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Answer = Callable[[Request], Reply | None]


def delivered(text: str, delivery: str = "d1") -> Reply:
    return Reply(text.encode(), headers={"Kg-Delivery": delivery})


class _Listener(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class HookServer:
    """Use as a context manager, or `start` and `stop` it."""

    def __init__(self, root: Path, socket_path: Path) -> None:
        self.root = root
        self.socket_path = socket_path
        self.answer: Answer = lambda _: Reply()
        self.requests: list[Request] = []
        self.hung = threading.Event()  # set when a request is being kept waiting
        self._release = threading.Event()
        self._listener: _Listener | None = None
        self._thread: threading.Thread | None = None

    @property
    def hooks(self) -> list[Request]:
        return [request for request in self.requests if request.path.startswith("/hooks/")]

    @property
    def acknowledged(self) -> list[str]:
        acks = [request for request in self.requests if request.path == "/deliveries/ack"]
        return [delivery for ack in acks for delivery in json.loads(ack.body)["ids"]]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._release.clear()
        server = self

        class Handler(_Handler):
            owner = server

        self.socket_path.parent.mkdir(parents=True, exist_ok=True)
        self._listener = _Listener(str(self.socket_path), Handler)
        self._thread = threading.Thread(target=self._listener.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.announce()

    def announce(self, *, indent: int | None = 2) -> None:
        (self.root / "run").mkdir(parents=True, exist_ok=True)
        record = {"pid": os.getpid(), "started": 1.5, "version": "0.1.0", "socket": str(self.socket_path), "port": None}
        record |= {"root": str(self.root), "format": 1}
        (self.root / "run/server.json").write_text(json.dumps(record, indent=indent), encoding="utf-8")

    def stop(self) -> None:
        """Stop listening; the socket file stays behind, as after a kill."""
        self._release.set()
        if self._listener is not None:
            self._listener.shutdown()
            self._thread.join(10)
            self._listener.server_close()
            self._listener = None

    def reply(self, request: Request) -> Reply | None:
        self.requests.append(request)
        if request.path == "/deliveries/ack":
            return Reply(b'{"acknowledged":{}}')
        reply = self.answer(request)
        if reply is None:
            self.hung.set()
            self._release.wait(60)
        return reply


class _Handler(BaseHTTPRequestHandler):
    owner: HookServer
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "local"  # the peer of a Unix socket has no address

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def _answer(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.owner.reply(Request(self.path, headers, body))
        if reply is None:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
