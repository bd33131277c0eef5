"""A scripted model on the loopback, which a real client takes for the Anthropic API.

A script is a list of turns, one for each request that offers tools. A turn is a function that reads the request, as a
model would, and returns what to say or which tools to call: so it can use a session id that really reached it. A
request without tools (a title, a summary) is answered with a word and uses up no turn.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Say:
    """The model writes a text."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """The model calls a tool."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to the model."""

    body: Mapping[str, Any]

    @property
    def text(self) -> str:
        """All that the model can read, whoever is named as its author."""
        return "\n".join(_strings([self.body.get("system"), self.body.get("messages")]))

    @property
    def tools(self) -> list[str]:
        """Names of the tools that it may call."""
        return [tool["name"] for tool in self.body.get("tools", [])]


Turn = Callable[[Asked], list[Say | Use]]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


@dataclass(slots=True)
class FakeModel:
    """Use as a context manager. `asked` holds the requests that offered tools, `faults` what went wrong in a turn."""

    turns: list[Turn] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None
    _lock: Any = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        model = self

        class Handler(_Handler):
            owner = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What the client takes for the API."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, asked: Asked) -> list[Say | Use]:
        """What the model says next."""
        if not asked.tools:
            return [Say("ok")]
        with self._lock:
            self.asked.append(asked)
            if not self.turns:
                self.faults.append("a request that the script has no turn for")
                return [Say("(no turn is left)")]
            turn = self.turns.pop(0)
        try:
            return turn(asked)
        except Exception as error:  # noqa: BLE001 - a test must hear of it, and it happens in a thread of the server
            self.faults.append(f"{error!r} at request {len(self.asked)}: {asked.text[-3000:]}")
            return [Say("(the turn failed)")]


class _Handler(BaseHTTPRequestHandler):
    owner: FakeModel
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, b"", "application/json")

    def do_GET(self) -> None:
        self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": "the fake has no such path"}})

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": 100})
        elif path != "/v1/messages":
            self.do_GET()
        else:
            message = _message(body, self.owner.answer(Asked(body)))
            if body.get("stream"):
                self._send(200, b"".join(_events(message)), "text/event-stream")
            else:
                self._json(200, message)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _json(self, status: int, document: object) -> None:
        self._send(status, json.dumps(document).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _message(body: Mapping[str, Any], said: list[Say | Use]) -> dict[str, Any]:
    number = len(body.get("messages", []))
    content: list[dict[str, Any]] = []
    for index, part in enumerate(said):
        if isinstance(part, Say):
            content.append({"type": "text", "text": part.text})
        else:
            call = f"toolu_fake{number:04}{index:04}"
            content.append({"type": "tool_use", "id": call, "name": part.tool, "input": part.arguments})
    return {
        "id": f"msg_fake{number:08}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": "tool_use" if any(isinstance(part, Use) for part in said) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def _events(message: Mapping[str, Any]) -> Iterator[bytes]:
    """The message as the stream of a model that thinks fast."""

    def event(kind: str, **fields: object) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, part in enumerate(message["content"]):
        if part["type"] == "text":
            empty, delta = {**part, "text": ""}, {"type": "text_delta", "text": part["text"]}
        else:
            empty = {**part, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        yield event("content_block_start", index=index, content_block=empty)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=stop, usage=message["usage"])
    yield event("message_stop")
