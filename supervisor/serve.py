"""`kg serve`: the one file that wires everything.

The process that runs this is the supervisor. It takes the storage lock for its whole life, before it touches a socket;
its one child loads the storage and serves (supervisor/service.py).
"""

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from kg.limits import FORMAT
from shim.root import RootError
from supervisor import __version__
from supervisor.arbiter import run_supervisor
from supervisor.files import Disk, RealDisk, append_log, write_durably
from supervisor.health import is_same_process, process_started
from supervisor.listening import CannotListen
from supervisor.locks import FolderLock, LockImpossible, describe_owner
from supervisor.log import LogSettings, to_stderr
from supervisor.notify import take_notifier
from supervisor.root import load_token, prepare_root, socket_path
from supervisor.service import Service, read_start_error, write_start_error
from supervisor.settings import Settings, load_settings
from web.app import create_app

DONE, PROBLEM, OWNED = 0, 1, 3  # exit codes, see spec/operations.md section 1
SERVER_JSON = Path("run/server.json")


def serve(
    root: Path, *, port: str | None, socket: str | None, log_to_terminal: bool, extra_tools: tuple[Any, ...] = ()
) -> int:
    """Serve this folder until a signal ends it.

    Args:
        root: the storage folder.
        port: overrides KG_PORT ("0": any free one, "off": none).
        socket: overrides the path of the Unix socket.
        log_to_terminal: log to standard error and not to log/server.log.
        extra_tools: further rows of the tools table (test builds only).
    """
    disk = RealDisk()
    try:
        prepare_root(root, disk=disk)
    except RootError as error:
        return _say(str(error), PROBLEM)
    storage = FolderLock(root / "locks" / "storage")
    try:
        if not storage.acquire():
            return _say(describe_owner(root, is_same=is_same_process), OWNED)
        environment = {**os.environ, **({"KG_PORT": port} if port is not None else {})}
        settings = load_settings(root, environment)
        where = Path(socket) if socket else socket_path(root, runtime_dir=os.environ.get("XDG_RUNTIME_DIR"))
        return _run(root, disk, settings, where, log_to_terminal=log_to_terminal, extra_tools=extra_tools)
    except (LockImpossible, CannotListen, OSError) as error:
        write_start_error(root, str(error), status=PROBLEM, disk=disk)
        return _say(str(error), PROBLEM)
    finally:
        storage.release()


def _run(
    root: Path, disk: Disk, settings: Settings, where: Path, *, log_to_terminal: bool, extra_tools: tuple[Any, ...]
) -> int:
    token = load_token(root, disk=disk)
    announced: dict[str, int | None] = {}
    pid = os.getpid()
    notify = take_notifier(os.environ)

    def build_app() -> Any:  # noqa: ANN401 - an ASGI application
        service = Service(root, disk=disk, settings=settings, supervisor_pid=pid, version=__version__)

        async def startup() -> None:
            await service.start()
            notify("READY=1")

        async def shutdown() -> None:
            notify("STOPPING=1")
            await service.stop()

        return create_app(
            lambda: service.owner,
            token=token,
            port=lambda: announced.get("port"),
            version=__version__,
            startup=startup,
            shutdown=shutdown,
            extra_tools=extra_tools,
        )

    def on_listening(taken: int | None) -> None:
        announced["port"] = taken
        record = {
            "pid": pid, "started": process_started(pid), "version": __version__, "socket": str(where), "port": taken,
            "root": str(root), "format": FORMAT,
        }  # fmt: skip
        write_durably(
            disk, root / SERVER_JSON, [json.dumps(record, indent=2, ensure_ascii=False).encode()], keep_previous=False
        )

    write = to_stderr if log_to_terminal else partial(append_log, root, "server.log", disk=disk)
    status = run_supervisor(
        build_app=build_app, socket_path=where, host=settings.host, port=settings.port, on_listening=on_listening,
        on_stop=lambda: disk.unlink(root / SERVER_JSON), log=LogSettings(settings.log_level, write),
    )  # fmt: skip
    if status == DONE:
        return DONE
    failed = read_start_error(root)  # an owner that served has removed it
    return _say(*failed) if failed is not None else status


def _say(sentence: str, status: int) -> int:
    print(f"kg: {sentence}", file=sys.stderr)  # noqa: T201 - the command's answer
    return status
