"""A real service for tests and benchmarks: own folders under a short path, own processes, ended by pid."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from shim.client import request
from tests.waiting import until

REPOSITORY = Path(__file__).resolve().parent.parent


class Service:
    """`kg serve` on a folder of its own. The path is short, since a Unix socket's may have 100 bytes."""

    def __init__(self, base: Path, **environment: str) -> None:
        self.base = base
        self.root = base / "mem"
        self.home = base / "home"
        self.home.mkdir(exist_ok=True)
        (base / "run").mkdir(exist_ok=True)
        self.env = {
            "HOME": str(self.home), "KG_STORAGE": str(self.root), "XDG_RUNTIME_DIR": str(base / "run"),
            "XDG_CONFIG_HOME": str(self.home / ".config"), "KG_PORT": "0", "LANG": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY), **environment,
        }  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    # --- life ------------------------------------------------------------------------------------------------

    def start(self, *, within_s: float = 15.0) -> "Service":
        """Start and wait until it answers."""
        self.spawn()
        until(self.answers, within_s=within_s)
        return self

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start without waiting."""
        with (self.base / "stderr").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "supervisor.cli", "serve"], env=self.env, cwd=self.base, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        return self.process

    def answers(self) -> bool:
        """Whether /health is answered by this very process's service; fails when the process has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"the service ended with {self.process.returncode}\n{self.log()}")
        try:
            if self.process is not None and self.record["pid"] != self.process.pid:
                return False
            return self.http("GET", "/health").status == 200
        except (OSError, ValueError, KeyError):
            return False

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        """End it and return its exit code; -9 when it had to be killed."""
        process = self.process
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(sig)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        return process.wait()

    def restart(self) -> "Service":
        """Stop and start."""
        self.stop()
        return self.start()

    def kill_owner(self) -> int:
        """kill -9 the owner; returns its pid."""
        pid = self.owner_pid
        os.kill(pid, signal.SIGKILL)
        return pid

    # --- facts -----------------------------------------------------------------------------------------------

    @property
    def record(self) -> dict[str, Any]:
        """run/server.json."""
        return json.loads((self.root / "run" / "server.json").read_text(encoding="utf-8"))

    @property
    def socket(self) -> str:
        """Path of the Unix socket."""
        return str(self.record["socket"])

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self.record["port"])

    @property
    def token(self) -> str:
        """What TCP clients present."""
        return (self.root / "run" / "token").read_text(encoding="utf-8").strip()

    @property
    def owner_pid(self) -> int:
        """Pid of the process that holds the state."""

        def find() -> int | None:
            assert self.process is not None
            with contextlib.suppress(psutil.Error):
                children = psutil.Process(self.process.pid).children()
                alive = [child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE]
                return min(alive) if alive else None
            return None

        return until(find)

    def log(self) -> str:
        """What the service logged and printed."""
        paths = (self.root / "log" / "server.log", self.base / "stderr")
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths if path.exists())

    def journal(self) -> list[dict[str, Any]]:
        """Every event on disk, in order."""
        segments = sorted((self.root / "journal").glob("*.jsonl"))
        return [json.loads(line) for path in segments for line in path.read_bytes().splitlines()]

    # --- asking ----------------------------------------------------------------------------------------------

    def http(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """One request through the Unix socket."""
        data = b"" if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        given = [("Content-Type", "application/json"), *(headers or {}).items()]
        return request(method, path, data, given, socket_path=self.socket, timeout_s=30)

    def health(self) -> dict[str, Any]:
        """The whole report."""
        return json.loads(self.http("GET", "/health").body)

    def call(self, tool: str, arguments: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The result of a tool call."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = json.loads(self.http("POST", "/rpc", message, headers).body)
        return answer["result"]

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of a tool call's result; `source` stands for the argument `from`."""
        if "source" in arguments:
            arguments["from"] = arguments.pop("source")
        return self.call(tool, arguments)["content"][0]["text"]

    def session(self, cwd: Path | None = None) -> str:
        """Open a session with kg_read and return its id."""
        folder = cwd or self.base / "app"
        folder.mkdir(exist_ok=True)
        return session_of(self.text("kg_read", cwd=str(folder)))


def session_of(text: str) -> str:
    """The session id that a reply of kg_read names: in its last line, or in the footer of its first part."""
    found = re.search(r'^Session: ([0-9a-f]{8})$|session_id="([0-9a-f]{8})"', text, re.MULTILINE)
    assert found, text[-200:]
    return found[1] or found[2]


@contextlib.contextmanager
def scratch_service(**environment: str) -> Iterator[Service]:
    """A service that is not started yet, and is ended and cleared away at the end."""
    base = Path(tempfile.mkdtemp(prefix="kg", dir="/tmp"))
    service = Service(base, **environment)
    try:
        yield service
    finally:
        service.stop()
        shutil.rmtree(base, ignore_errors=True)
