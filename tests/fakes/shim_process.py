"""A client's side of one real shim process: lines in, lines out."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

REPOSITORY = Path(__file__).resolve().parents[2]
MAIN = REPOSITORY / "shim/main.py"


class ShimProcess:
    """`python -I -S -E shim/main.py` with an environment of its own."""

    def __init__(self, root: Path, *, main: Path = MAIN, arguments: tuple[str, ...] = (), **variables: str) -> None:
        environ = {"HOME": str(root.parent), "PATH": os.defpath, "KG_STORAGE": str(root)} | variables
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-E", str(main), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(10)
        self._reader.join(10)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):  # what was still buffered for a shim that has gone
                stream.close()

    def write(self, raw: bytes) -> None:
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def send(self, method: str, ident: object = None, params: object = None) -> None:
        """Send a request, or a notification when `ident` is None."""
        message = {"jsonrpc": "2.0", "method": method}
        if ident is not None:
            message["id"] = ident
        if params is not None:
            message["params"] = params
        self.write(json.dumps(message).encode() + b"\n")

    def line(self, *, within_s: float = 30.0) -> bytes:
        line = self._lines.get(timeout=within_s)
        assert line, "stdout ended"
        return line

    def answer(self, *, within_s: float = 30.0) -> dict:
        return json.loads(self.line(within_s=within_s))

    def end(self) -> tuple[int, list[bytes], bytes]:
        """Close stdin; return the exit code, the lines not yet taken, and stderr."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(30)
        self._reader.join(10)
        rest = []
        while line := self._lines.get(timeout=10):
            rest.append(line)
        return code, rest, self.process.stderr.read()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")
