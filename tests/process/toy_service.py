"""A small service under the real supervisor: it tells its pid, and can be slow, get stuck or refuse to start.

Run as a script: toy_service.py FOLDER [PORT]. Notes about what happened become files in FOLDER/notes.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import falcon
import falcon.asgi

from kg import limits
from supervisor.arbiter import run_supervisor
from supervisor.locks import FolderLock
from supervisor.log import LogSettings, to_stderr


class Life:
    """Takes the owner lock at the start, as the real owner does, and gives it back at the end."""

    def __init__(self, folder):
        self._folder = folder
        self._lock = FolderLock(folder / "owner")

    async def process_startup(self, scope, _event):
        if (self._folder / "unreadable").exists():
            scope["state"]["exit_status"] = 4
            raise RuntimeError("the storage is unreadable")
        if (self._folder / "broken").exists():
            raise RuntimeError("it is broken")
        note(self._folder, f"waiting-{os.getpid()}")
        if not await self._lock.acquire_async(within_s=20):
            raise RuntimeError("no lock")
        note(self._folder, f"started-{os.getpid()}")

    async def process_shutdown(self, scope, _event):
        assert self._lock.held
        note(self._folder, f"{'hurried' if scope['state']['hurried'] else 'stopped'}-{os.getpid()}")
        self._lock.release()


class Pid:
    async def on_get(self, _req, resp):
        resp.media = {"pid": os.getpid()}

    async def on_post(self, req, resp):
        body = await req.stream.read()
        resp.media = {"pid": os.getpid(), "bytes": len(body)}


class Slow:
    """Answers when the file `go` is there."""

    def __init__(self, folder):
        self._folder = folder

    async def on_get(self, _req, resp):
        note(self._folder, "slow-began")
        while not (self._folder / "go").exists():  # noqa: ASYNC110 - the test is another process
            await asyncio.sleep(0.01)
        resp.media = {"pid": os.getpid()}


class Socket:
    """Sends its pid, then waits for the page."""

    async def on_websocket(self, _req, ws):
        await ws.accept()
        await ws.send_text(str(os.getpid()))
        while True:
            await ws.receive_text()


class Stuck:
    """Holds up the loop for ever."""

    async def on_get(self, _req, _resp):
        while True:
            pass


def note(folder, name):
    (folder / "notes" / name).write_text("")


def build_app(folder):
    app = falcon.asgi.App(middleware=[Life(folder)])
    app.add_route("/pid", Pid())
    app.add_route("/slow", Slow(folder))
    app.add_route("/stuck", Stuck())
    app.add_route("/ws", Socket())
    return app


def main(folder, port):
    (folder / "notes").mkdir(exist_ok=True)
    limits.HEAD_S = float(os.environ.get("TOY_HEAD_S", limits.HEAD_S))

    def listening(taken):
        (folder / "server.json").write_text(json.dumps({"pid": os.getpid(), "port": taken}))

    try:
        return run_supervisor(
            build_app=lambda: build_app(folder),
            socket_path=folder / "run" / "kg.sock",
            host=None,
            port=port,
            on_listening=listening,
            on_stop=lambda: note(folder, f"ended-{os.getpid()}"),
            log=LogSettings("info", to_stderr),
        )
    finally:
        note(folder, f"returned-{os.getpid()}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None))
