"""The supervisor: gunicorn's arbiter with one owner under it, and nothing that could make two.

Theory of operation. `run_supervisor` binds the sockets, hands them to gunicorn as descriptors and stays in its loop
until the service ends. The arbiter keeps the sockets open while its one worker (supervisor/webworker.py) is replaced,
so that requests wait in the backlog. HUP replaces it on purpose: the new one is forked first, waits for the owner lock
in its startup, and serves as soon as the old one has let go.

What gunicorn can do to get a second worker is switched off: TTIN, TTOU, WINCH and USR2 only leave a line in the log,
the control socket is disabled, WEB_CONCURRENCY and the other variables that gunicorn reads have no effect. An owner
that dies again and again right after its start is restarted once a second instead of at once.

TERM, INT and QUIT stop; a second one of them hurries the owner; at the end of its time it is killed, which is always
safe.

The owner is a fork of this process, so when its work is done its Python stack still holds the frames of whoever called
`run_supervisor`. They are the supervisor's: the fork ends right here and never returns into them.

This module and webworker.py are gunicorn's home.
"""

import importlib.util
import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer
from gunicorn.glogging import Logger

from kg import limits
from supervisor.listening import CLOSED_UMASK, Listening, listen, remove_socket
from supervisor.log import LogSettings, install
from supervisor.webworker import OwnerWorker

BuildApp = Callable[[], Any]
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
FOREIGN = ("GUNICORN_PID", "GUNICORN_FD", "WEB_CONCURRENCY", "NOTIFY_SOCKET")  # they would make gunicorn act on its own
DONE, PROBLEM, UNREADABLE = 0, 1, 4


class KgLog(Logger):  # type: ignore[misc] # gunicorn has no type information
    """gunicorn's messages, through the service's log."""

    def __init__(self, cfg: Any) -> None:  # noqa: ANN401 - gunicorn's configuration
        self.error_log = self.access_log = logging.getLogger("gunicorn")
        self.setup(cfg)

    def setup(self, cfg: Any) -> None:  # noqa: ANN401 - gunicorn's configuration
        """Take over a configuration; handlers are the root logger's."""
        self.cfg = cfg
        self._access_log_enabled = False

    def reopen_files(self) -> None:
        """Do nothing: no file is kept open."""

    def close_on_exec(self) -> None:
        """Do nothing: no file is kept open."""


class Application(BaseApplication):  # type: ignore[misc] # gunicorn has no type information
    """Settings and the way to the application. Unlike gunicorn's command it reads no file and no arguments."""

    def __init__(self, settings: Mapping[str, object], build_app: BuildApp) -> None:
        self._settings = settings
        self._build_app = build_app
        super().__init__()

    def load_config(self) -> None:
        """Set what kg wants; gunicorn calls this at the start and at HUP."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:  # noqa: ANN401 - an ASGI application
        """Build the application, in the owner's process."""
        return self._build_app()


class Supervisor(Arbiter):  # type: ignore[misc] # gunicorn has no type information
    """See the module."""

    LISTENERS: list[Any]

    def __init__(self, app: Application, listening: Listening) -> None:
        self._listening = listening
        self._starts: deque[float] = deque(maxlen=limits.OWNER_STARTS)
        super().__init__(app)

    def handle_ttin(self) -> None:
        """Refuse a second owner, whichever signal asks for it."""
        self.log.warning("Signal ignored: kg has exactly one owner")

    handle_ttou = handle_usr2 = handle_winch = handle_ttin

    def handle_term(self) -> None:
        """Stop."""
        raise StopIteration

    handle_int = handle_quit = handle_term

    def spawn_workers(self) -> None:
        """Start the missing owner, unless the last few died at once: then the next tick does."""
        now = time.monotonic()
        if len(self._starts) == limits.OWNER_STARTS and now - self._starts[0] < limits.OWNER_STARTS_WINDOW_S:
            self._starts.popleft()
            self.log.error("The owner ended %d times within seconds; waiting a moment", limits.OWNER_STARTS)
            return
        self._starts.append(now)
        self.spawn_worker()

    def stop(self, graceful: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002 - gunicorn's signature
        """Close the sockets, let the owner leave, and kill what has not left in time."""
        for listener in self.LISTENERS:
            listener.close()
        self.LISTENERS = []
        remove_socket(self._listening)
        self.kill_workers(signal.SIGTERM)
        limit = time.monotonic() + limits.STOP_S
        while self.WORKERS and (left := limit - time.monotonic()) > 0:
            if any(sig in STOPPING for sig in self.wait_for_signals(timeout=min(left, limits.OWNER_TICK_S))):
                self.log.info("Told to stop again: hurrying")
                self.kill_workers(signal.SIGQUIT)
                limit = min(limit, time.monotonic() + limits.HURRY_S)
            self._reap()
        self.kill_workers(signal.SIGKILL)
        self._reap()

    def _reap(self) -> None:
        with suppress(HaltServer):  # it says that the service shall stop, which it does
            self.reap_workers()


def run_supervisor(
    *,
    build_app: BuildApp,
    socket_path: Path,
    host: str | None,
    port: int | None,
    on_listening: Callable[[int | None], None],
    on_stop: Callable[[], None],
    log: LogSettings,
) -> int:
    """Serve until a signal ends it; return the exit status.

    Args:
        build_app: called in the owner's process, at each of its starts; returns the ASGI application.
        socket_path: the Unix socket; its folder is made, for this user alone.
        host: where the TCP port is bound, None for 127.0.0.1.
        port: the TCP port, 0 for any free one, None for no TCP.
        on_listening: called once, in the supervisor, with the TCP port, when clients can connect.
        on_stop: called once, in the supervisor, after the owner has ended, unless on_listening never was.
        log: how supervisor and owner log.

    Returns:
        0 after a stop by signal; 1 when the service could not start or broke; 4 when the application set
        `scope["state"]["exit_status"] = 4` in a startup that failed.

    Raises:
        CannotListen: a socket could not be bound; nothing was started.
    """
    install(log)
    os.umask(CLOSED_UMASK)
    for name in FOREIGN:
        os.environ.pop(name, None)
    listening = listen(socket_path=socket_path, host=host, port=port)
    supervisor_pid = os.getpid()
    announced: list[int | None] = []

    def announce(_arbiter: object) -> None:
        announced.append(listening.port)
        on_listening(listening.port)

    settings = _settings(listening, log.level, when_ready=announce)
    try:
        status = _run(Supervisor(Application(settings, build_app), listening))
        if os.getpid() != supervisor_pid:
            logging.shutdown()
            os._exit(status)
    finally:
        if os.getpid() == supervisor_pid:
            remove_socket(listening)
            if announced:
                on_stop()
    return status if status in {DONE, UNREADABLE} else PROBLEM


def _run(supervisor: Supervisor) -> int:
    """Run the arbiter, which ends by SystemExit; in the forked owner too."""
    try:
        supervisor.run()
    except SystemExit as leaving:
        code = leaving.code
        if isinstance(code, int):
            return int(code) & 0xFF
        return PROBLEM if code else DONE
    return DONE


def _settings(listening: Listening, level: str, *, when_ready: Callable[[object], None]) -> dict[str, object]:
    shared_memory = Path("/dev/shm")  # noqa: S108 - an unlinked file of 0 bytes; a slow disk must not kill the owner
    return {
        "bind": [f"fd://{descriptor}" for descriptor in listening.descriptors],
        "workers": 1,
        "worker_class": OwnerWorker,
        "worker_tmp_dir": str(shared_memory) if os.access(shared_memory, os.W_OK) else None,
        "timeout": limits.OWNER_TIMEOUT_S,
        "graceful_timeout": int(limits.DRAIN_S),
        "keepalive": limits.KEEPALIVE_S,
        "umask": CLOSED_UMASK,
        "control_socket_disable": True,
        "asgi_lifespan": "on",
        "http_parser": "fast" if importlib.util.find_spec("gunicorn_h1c") else "python",
        "preload_app": False,
        "reload": False,
        "max_requests": 0,
        "logger_class": KgLog,
        "loglevel": level,
        "accesslog": None,
        "forwarded_allow_ips": "",  # there is no proxy in front: nobody may say who he is, or that he came by TLS
        "secure_scheme_headers": {},
        "when_ready": when_ready,
    }
