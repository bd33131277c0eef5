"""`make run`: shows on a scratch storage that kg works, then starts it on the default one.

Everything goes the way that a client goes: the real stdio shim, the real hook script, the real service.
"""

import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
KG = str(BIN / "kg")
HOOK = str(BIN / "kg-hook")
PLUGINS = Path(__file__).resolve().parent.parent / "hooks"
WAIT_S = 20.0  # for one answer; a start may take 15


class DemoError(Exception):
    """A step did not do what it should."""


def step(what: str, act: Callable[[], str]) -> None:
    """Do one thing and say in one line what came of it."""
    began = time.perf_counter()
    result = act()
    print(f"  {what:<46} {result}  ({(time.perf_counter() - began) * 1000:.0f} ms)", flush=True)


class Shim:
    """A client's end of `kg mcp`: one line in, one line out."""

    def __init__(self, env: dict[str, str]) -> None:
        self._ids = itertools.count(1)
        self._process = subprocess.Popen([KG, "mcp"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a message; the result of its answer."""
        if self._process.stdin is None or self._process.stdout is None:
            raise DemoError("the shim has no pipes")
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        too_late = threading.Timer(WAIT_S, self._process.kill)  # ends the read below
        too_late.start()
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            too_late.cancel()
        if not line:
            raise DemoError(f"kg mcp ended without an answer to {method}")
        answer = json.loads(line)
        if "result" not in answer:
            raise DemoError(f"{method} was answered {answer}")
        return dict(answer["result"])

    def tool(self, name: str, **arguments: object) -> str:
        """The text of a tool call."""
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        text = str(result["content"][0]["text"])
        if result["isError"]:
            raise DemoError(f"{name}: {text}")
        return text

    def close(self) -> None:
        """End the shim as a client does: its stdin ends. One that stays is killed."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise


def hook(env: dict[str, str], event: str, **payload: object) -> str:
    """What a hook of Claude Code puts into the model's context."""
    stdin = json.dumps({"hook_event_name": event, **payload}).encode()
    done = subprocess.run(
        [HOOK, "claude", event], input=stdin, env=env, capture_output=True, check=True, timeout=WAIT_S
    )
    if not done.stdout:
        return ""
    return str(json.loads(done.stdout).get("hookSpecificOutput", {}).get("additionalContext", ""))


def expect(text: str, part: str) -> str:
    """The line of a text that holds a part."""
    for line in text.splitlines():
        if part in line:
            return line.strip()
    raise DemoError(f"{part!r} is missing in: {text[:400]}")


def show(env: dict[str, str], app: Path) -> None:
    """A write, a read, a search; then what other conversations get by themselves."""
    step("kg start", lambda: run(env, "start"))
    shim = Shim(env)
    try:
        through_the_shim(env, shim, app)
    finally:
        shim.close()
    step("kg stop", lambda: run(env, "stop"))


def through_the_shim(env: dict[str, str], shim: Shim, app: Path) -> None:
    """What a client does with the tools and the hooks."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "kg-demo", "version": "1"},
    }

    def initialize() -> str:
        server = shim.request("initialize", params)["serverInfo"]
        return f"{server['title']} {server['version']}"

    step("shim: initialize", initialize)
    step("shim: tools/list", lambda: f"{len(shim.request('tools/list', {})['tools'])} tools")
    opened: list[str] = []

    def read() -> str:
        opened.append(expect(shim.tool("kg_read", cwd=str(app)), "Session: "))
        return opened[0]

    step("shim: kg_read(cwd)", read)
    lesson = {
        "session_id": opened[0].removeprefix("Session: "),
        "level": "project",
        "id": "migrations-before-worker",
        "gist": "run the migrations before the worker starts, or it caches the old schema",
        "notes": ["seen twice after a deploy"],
    }
    sid, node, gist = lesson["session_id"], lesson["id"], str(lesson["gist"])
    step("shim: kg_put_node", lambda: expect(shim.tool("kg_put_node", **lesson), "Saved"))
    step("shim: kg_read(ids)", lambda: expect(shim.tool("kg_read", session_id=sid, ids=[node]), "gist: "))

    def search() -> str:
        text = shim.tool("kg_search", session_id=sid, query="worker schema")
        expect(text, str(node))
        return expect(text, "Found")

    step("shim: kg_search", search)
    started = {"session_id": "demo-1", "cwd": str(app), "source": "startup", "transcript_path": str(app / "none.jsonl")}
    preload: list[str] = []

    def session_start() -> str:
        preload.append(hook(env, "SessionStart", **started))
        return expect(preload[0], gist)

    step("hook: SessionStart brings the lesson", session_start)

    # That conversation reads the rest, as it was told to; what is written afterwards reaches it through its prompt.
    other = expect(preload[0], "session_id: ").split()[1]
    step("shim: kg_read of that conversation", lambda: expect(shim.tool("kg_read", session_id=other), gist))
    later = {**lesson, "id": "cache-warm-up", "gist": "warm the cache after a deploy, or the first report times out"}
    step("shim: kg_put_node", lambda: expect(shim.tool("kg_put_node", **later), "Saved"))
    asked = {**started, "prompt": "why does the first report time out after a deploy?"}
    step("hook: UserPromptSubmit recalls the later one", lambda: recalled(env, asked, "cache-warm-up"))


def recalled(env: dict[str, str], payload: dict[str, str], node: str) -> str:
    """The line with which the memory answers a prompt."""
    return expect(hook(env, "UserPromptSubmit", **payload), node)


def run(env: dict[str, str], *words: str) -> str:
    """A `kg` command; its last line."""
    done = subprocess.run([KG, *words], env=env, capture_output=True, text=True, check=False, timeout=WAIT_S * 2)
    if done.returncode:
        raise DemoError(f"kg {' '.join(words)} ended with {done.returncode}: {(done.stdout + done.stderr).strip()}")
    return (done.stdout.strip().splitlines() or [""])[-1]


def scratch() -> None:
    """Show everything on folders of its own."""
    base = Path(tempfile.mkdtemp(prefix="kg", dir="/tmp"))
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("KG_", "XDG_", "CLAUDE"))},
        "HOME": str(base), "KG_STORAGE": str(base / "memory"), "XDG_RUNTIME_DIR": str(base / "run"), "KG_PORT": "0",
    }  # fmt: skip
    app = base / "app"
    for folder in (app, base / "run"):
        folder.mkdir(mode=0o700)
    print(f"kg on a scratch storage ({base}):", flush=True)
    try:
        show(env, app)
    finally:
        subprocess.run([KG, "stop"], env=env, capture_output=True, check=False, timeout=WAIT_S * 2)
        shutil.rmtree(base, ignore_errors=True)


def well() -> None:
    """Show the status of the service on the default storage, which has to be good."""
    code = subprocess.run([KG, "status"], check=False, timeout=WAIT_S).returncode
    if code:
        raise DemoError(f"kg runs and is not well; what kg status shows above says why (exit code {code})")


def main() -> int:
    """Run the demonstration, then the service on the default storage."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that whoever ends this leaves no service behind, too
    try:
        scratch()
        print("\nkg on the default storage:\n  " + run(dict(os.environ), "start"), flush=True)
        well()
    except KeyboardInterrupt:
        print("make run was interrupted; its scratch service is stopped", file=sys.stderr)
        return 1
    except (DemoError, subprocess.SubprocessError, OSError, ValueError, LookupError) as error:
        print(f"make run failed: {error}", file=sys.stderr)
        return 1
    kg, plugins, folder = (shlex.quote(str(path)) for path in (KG, PLUGINS, BIN))
    print(
        f"""
Next: connect Claude Code. With tools and hooks, and {folder} on your PATH:
  claude plugin marketplace add {plugins} && claude plugin install kg@kg
or the tools alone:
  claude mcp add --scope user kg -- {kg} mcp
The memory runs in the background; {kg} stop ends it."""
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
