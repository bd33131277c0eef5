"""A client of the real stdio shim: one line in, one line out."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.serving import REPOSITORY, Service, session_of


class ShimClient:
    """Runs `shim/main.py` as a client would, and asks one thing at a time."""

    def __init__(self, service: Service, **environment: str) -> None:
        self._service = service
        self._ids = itertools.count(1)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-E", str(REPOSITORY / "shim" / "main.py")],
            env={**service.env, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        """Of the shim."""
        return self._process.pid

    def request(self, method: str, params: Any) -> dict[str, Any]:
        """Send a message and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["id"] == message["id"]
        return answer

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The whole answer to a tool call."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def session(self, cwd: Path | None = None) -> str:
        """Open a session with kg_read and return its id."""
        folder = cwd or self._service.base / "app"
        folder.mkdir(exist_ok=True)
        return session_of(self.ask("kg_read", cwd=str(folder))["result"]["content"][0]["text"])
