"""`make run`: shows on a scratch storage that kg works, then starts it on the default one.

Everything goes the way that a client goes: the real stdio shim, the real hook script, the real service.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
KG = str(BIN / "kg")
HOOK = str(BIN / "kg-hook")
WAIT_S = 20.0


class DemoError(Exception):
    """A step did not do what it should."""


def step(what: str, act: Callable[[], str]) -> None:
    """Do one thing and say in one line what came of it."""
    began = time.perf_counter()
    result = act()
    print(f"  {what:<44} {result}  ({(time.perf_counter() - began) * 1000:.0f} ms)", flush=True)


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
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or b"{}")
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
        """End the shim as a client does."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(WAIT_S)


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
    """A write, a read, a search; then what the next conversation gets by itself."""
    step("kg start", lambda: run(env, "start"))
    shim = Shim(env)
    step("shim: initialize", lambda: str(shim.request("initialize", {"protocolVersion": "2025-11-25"})["serverInfo"]))
    step("shim: tools/list", lambda: f"{len(shim.request('tools/list', {})['tools'])} tools")
    sid = expect(shim.tool("kg_read", cwd=str(app)), "Session: ").removeprefix("Session: ")
    gist = "run the migrations before the worker starts, or it caches the old schema"
    node = {
        "session_id": sid,
        "level": "project",
        "id": "migrations-before-worker",
        "gist": gist,
        "notes": ["seen twice"],
    }
    step("shim: kg_put_node", lambda: expect(shim.tool("kg_put_node", **node), "Saved"))
    step("shim: kg_read(id)", lambda: expect(shim.tool("kg_read", session_id=sid, id=node["id"]), "gist: "))
    step("shim: kg_search", lambda: expect(shim.tool("kg_search", session_id=sid, query="worker schema"), "Found"))

    def preload() -> str:
        return expect(hook(env, "SessionStart", session_id="demo-1", cwd=str(app), source="startup"), gist)

    step("hook: SessionStart of the next conversation", preload)

    # A conversation that began before the lesson was written: its prompt recalls it.
    first = hook(env, "SessionStart", session_id="demo-2", cwd=str(app), source="startup")
    other = expect(first, "session_id: ").split()[1]
    shim.tool("kg_read", session_id=other)
    later = {**node, "id": "cache-warm-up", "gist": "warm the cache after a deploy, or the first report times out"}
    shim.tool("kg_put_node", **later)

    def recall() -> str:
        prompt = "why does the first report time out after a deploy?"
        text = hook(env, "UserPromptSubmit", session_id="demo-2", cwd=str(app), prompt=prompt)
        return expect(text, "cache-warm-up")

    step("hook: UserPromptSubmit recalls", recall)
    shim.close()
    step("kg stop", lambda: run(env, "stop"))


def run(env: dict[str, str], *words: str) -> str:
    """A `kg` command; its last line."""
    done = subprocess.run([KG, *words], env=env, capture_output=True, text=True, check=False, timeout=WAIT_S * 2)
    if done.returncode:
        raise DemoError(f"kg {' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.strip().splitlines()[-1]


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
    print(f"kg on a scratch storage ({base}):")
    try:
        show(env, app)
    finally:
        subprocess.run([KG, "stop"], env=env, capture_output=True, check=False, timeout=WAIT_S * 2)
        shutil.rmtree(base, ignore_errors=True)


def main() -> int:
    """Run the demonstration, then the service on the default storage."""
    try:
        scratch()
        print("\nkg on the default storage:")
        print("  " + run(dict(os.environ), "start"))
    except (DemoError, subprocess.SubprocessError, OSError, ValueError) as error:
        print(f"kg: the demonstration failed: {error}", file=sys.stderr)
        return 1
    subprocess.run([KG, "status"], check=False, timeout=WAIT_S)
    print(
        f"""
Next: connect Claude Code,
  claude mcp add --scope user kg -- {KG} mcp
  claude plugin marketplace add {Path(__file__).resolve().parent.parent / "hooks"} && claude plugin install kg@kg
The memory runs in the background; {KG} stop ends it."""
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
