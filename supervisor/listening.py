"""The listening sockets of the service, bound before anything else starts.

Theory of operation. The supervisor binds here and hands gunicorn descriptors, because gunicorn's own way tries a busy
port five times at one-second steps, removes whatever socket lies at the path of a Unix socket, and opens it to all
users unless told otherwise. Here a busy port is reported with its holder; the Unix socket lies in a folder that only
this user can enter; and nothing but a socket is ever replaced. The storage lock is held by then, so a socket that is
left at our path belongs to nobody, or to the owner of a killed supervisor that answers its last requests and needs no
name for that.
"""

import errno
import os
import socket
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kg import limits
from supervisor.health import port_holder

BACKLOG = 2048  # connections that wait while the owner restarts; gunicorn's own figure
CLOSED_UMASK = 0o077
FOLDER_MODE = 0o700
SOCKET_MODE = 0o600


class CannotListen(Exception):  # noqa: N818 - named for what the service is
    """A socket could not be bound. The message names it, the cause and the way out."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Bound sockets. `descriptors` belong to whoever takes them; `inode` identifies the socket's file."""

    descriptors: tuple[int, ...]
    socket_path: Path
    inode: int
    port: int | None


def listen(*, socket_path: Path, host: str | None, port: int | None) -> Listening:
    """Bind the Unix socket and, unless `port` is None, the TCP port (0: any free one).

    Raises:
        CannotListen: with a complete message; nothing stays bound.
    """
    tcp = None if port is None else _bind_tcp(host or "127.0.0.1", port)
    try:
        local = _bind_unix(socket_path)
    except BaseException:
        if tcp is not None:
            tcp.close()
        raise
    inode = socket_path.lstat().st_ino
    taken = None if tcp is None else int(tcp.getsockname()[1])
    descriptors = tuple(one.detach() for one in (local, tcp) if one is not None)
    return Listening(descriptors, socket_path, inode, taken)


def remove_socket(listening: Listening) -> None:
    """Remove the socket's file if it is still ours."""
    with suppress(OSError):
        if listening.socket_path.lstat().st_ino == listening.inode:
            listening.socket_path.unlink()


def _bind_tcp(host: str, port: int) -> socket.socket:
    deadline = time.monotonic() + limits.PORT_PATIENCE_S
    while True:
        one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((host, port))
            one.listen(BACKLOG)  # two can bind while none listens
        except OSError as error:
            one.close()
            if error.errno != errno.EADDRINUSE or time.monotonic() >= deadline:
                raise CannotListen(_busy(host, port, error)) from error
            time.sleep(limits.PORT_POLL_S)
        else:
            return one


def _busy(host: str, port: int, error: OSError) -> str:
    if error.errno != errno.EADDRINUSE:
        return (
            f"kg cannot listen on {host} port {port}: {error.strerror}. Set KG_HOST and KG_PORT to what this user may."
        )
    holder = port_holder(port)
    who = f"is taken by {holder}" if holder else "is taken by another program"
    return f"Port {port} of {host} {who}. End that program, or set KG_PORT to another port (0: any free one)."


def _bind_unix(path: Path) -> socket.socket:
    _make_folder(path.parent)
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(CLOSED_UMASK)
    try:
        _clear(path)
        one.bind(str(path))
        path.chmod(SOCKET_MODE)
        one.listen(BACKLOG)
    except OSError as error:
        one.close()
        raise CannotListen(
            f"kg cannot make its socket {path}: {error.strerror or error}. Remove what is there."
        ) from error
    except BaseException:
        one.close()
        raise
    finally:
        os.umask(old)
    return one


def _make_folder(folder: Path) -> None:
    """Make the socket's folder, or take the one that is there, if it is a folder of this user and of nobody else."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise CannotListen(
                f"{folder} is no folder of its own (a link or a file), so the socket could be anybody's."
            )
        if found.st_uid != os.geteuid():
            raise CannotListen(f"{folder} belongs to user {found.st_uid}, who could take kg's socket away. Remove it.")
        if stat.S_IMODE(found.st_mode) != FOLDER_MODE:
            folder.chmod(FOLDER_MODE)
    except OSError as error:
        raise CannotListen(f"kg cannot use {folder} for its socket: {error.strerror or error}.") from error


def _clear(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise CannotListen(f"{path} is in the way of kg's socket and is no socket. Move it elsewhere.")
        path.unlink()
