"""How the shim finds the service, and how it has it started without waiting for it.

The socket's path is read anew for each connection: a restarted service may listen elsewhere. A start takes seconds, so
it runs in a child (`main.py --start-service`) whose stdout is a pipe: the poll loop sees its end, and what it wrote is
why it failed. After a failure nothing is started for a minute, as in `starter`; calls hear the cause at once.
"""

import posix
import sys

from kg.limits import READ_BYTES, SERVICE_START_AGAIN_S
from shim.link import Link
from shim.root import RootError, server_of, storage_root

STDIN, STDOUT, STDERR = 0, 1, 2
START = "--start-service"


class Service:
    """The service as this shim knows it."""

    __slots__ = ("_environ", "_failed_at", "_main", "_pid", "_said", "cause", "pipe")

    def __init__(self, main: str, environ: dict[bytes, bytes]) -> None:
        """Take the path of main.py and the environment."""
        self.cause = ""  # why the last start failed
        self.pipe = -1  # of the running starter; -1 when none runs
        self._main = main
        self._environ = environ
        self._pid = 0
        self._said = b""
        self._failed_at: float | None = None

    def connect(self) -> Link:
        """Return a new link.

        Raises:
            OSError: no service listens.
        """
        try:
            server = server_of(storage_root(self._environ))
        except RootError as error:
            self.cause = str(error)
            raise ConnectionRefusedError(self.cause) from error
        if server is None:
            raise ConnectionRefusedError("no service has announced itself")
        return Link(server.socket)

    def start(self, now: float) -> bool:
        """Have the service started; False when that has just failed, with `cause` saying why."""
        if self.pipe >= 0:
            return True
        if self._failed_at is not None and now - self._failed_at < SERVICE_START_AGAIN_S:
            return False
        self._said = b""
        self.pipe, theirs = posix.pipe()
        command = [sys.executable, "-I", "-S", "-E", self._main, START]
        try:
            self._pid = posix.posix_spawn(sys.executable, command, self._environ, file_actions=_plumbing(theirs))
        except OSError as error:
            self._fail(f"{sys.executable} cannot be run: {error.strerror}", now)
        finally:
            posix.close(theirs)
        return self.pipe >= 0

    def starter_spoke(self, now: float) -> bool:
        """Take what the starter wrote; return True when it has ended."""
        if data := posix.read(self.pipe, READ_BYTES):
            self._said += data
            return False
        _, status = posix.waitpid(self._pid, 0)
        if status == 0:
            self._failed_at = None
            self.cause = ""
            self._close()
        else:
            self._fail(self._said.decode("utf-8", "replace") or f"its starter ended with status {status}", now)
        return True

    def seen(self) -> None:
        """It has answered: earlier failures are history."""
        self._failed_at = None
        self.cause = ""

    def _fail(self, cause: str, now: float) -> None:
        self.cause = cause
        self._failed_at = now
        self._close()

    def _close(self) -> None:
        posix.close(self.pipe)
        self.pipe = -1


def _plumbing(pipe: int) -> list[tuple[object, ...]]:
    # The client's own three streams are none of the starter's: it might outlive the shim and hold them open.
    return [
        (posix.POSIX_SPAWN_OPEN, STDIN, "/dev/null", posix.O_RDONLY, 0),
        (posix.POSIX_SPAWN_DUP2, pipe, STDOUT),
        (posix.POSIX_SPAWN_OPEN, STDERR, "/dev/null", posix.O_WRONLY, 0),
    ]
