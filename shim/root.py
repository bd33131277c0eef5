"""Where the memory lives, and who serves it: the storage root rule and two small files below it.

Shim, hooks and command line share this rule, because a client may hand down no variables at all and yet none of them
may ever open a second memory: `KG_STORAGE`, else the line in `<config>/kg/root` that `kg setup` wrote, else the default
data folder. A relative path is refused instead of resolved, since the shim's working folder is a client's project.

`run/server.json` and `run/start-error.json` are information, never a lock: what they say about a process is true only
once its socket has answered. A file that is missing or unreadable reads as None. The module imports C modules only.
"""

import posix
import pwd
from time import time

from shim.scan import Number, parse

SERVER_FILE = "run/server.json"
START_ERROR_FILE = "run/start-error.json"
START_LOCK_FILE = "locks/start"
LOG_FILE = "log/server.log"


class RootError(Exception):
    """The storage root is not usable as written; the text says what to write instead."""


class Server:
    """What run/server.json says."""

    __slots__ = ("pid", "port", "root", "socket", "started", "version")

    def __init__(self, record: dict[str, object]) -> None:
        """Take the fields that are of the right kind."""
        self.pid = int(_number(record.get("pid")))
        self.started = float(_number(record.get("started")))
        port = record.get("port")
        self.port = int(port) if isinstance(port, Number) else None
        self.socket = _text(record.get("socket"))
        self.root = _text(record.get("root"))
        self.version = _text(record.get("version"))


class StartError:
    """What run/start-error.json says; `age_s` counts from the file's own time."""

    __slots__ = ("age_s", "cause", "log")

    def __init__(self, record: dict[str, object], age_s: float) -> None:
        """Take the fields that are of the right kind."""
        self.cause = _text(record.get("cause")) or "no cause given"
        self.log = _text(record.get("log"))
        self.age_s = age_s


def storage_root(environ: dict[bytes, bytes] | None = None) -> str:
    """Return the absolute path of the storage folder; it need not exist.

    Raises:
        RootError: a relative path.
    """
    variables = posix.environ if environ is None else environ
    written = _variable(variables, b"KG_STORAGE")
    if written:
        return _absolute(written, variables, "KG_STORAGE")
    config = _base_folder(variables, b"XDG_CONFIG_HOME", "/.config")
    line = (_read(f"{config}/kg/root") or b"").decode("utf-8", "surrogateescape").partition("\n")[0].strip()
    if line:
        return _absolute(line, variables, f"{config}/kg/root")
    return _base_folder(variables, b"XDG_DATA_HOME", "/.local/share") + "/kg"


def server_of(root: str) -> Server | None:
    """Return the service that last announced itself on this root, if its file is whole."""
    record = _record(f"{root}/{SERVER_FILE}")
    if record is None:
        return None
    try:
        server = Server(record)
    except ValueError:
        return None
    return server if server.socket else None


def start_error_of(root: str) -> StartError | None:
    """Return why the last start on this root failed; a service that serves has removed the file."""
    path = f"{root}/{START_ERROR_FILE}"
    record = _record(path)
    if record is None:
        return None
    try:
        return StartError(record, time() - posix.stat(path).st_mtime)
    except OSError:
        return None


def _absolute(written: str, variables: dict[bytes, bytes], source: str) -> str:
    path = _expanded(written, variables)
    if not path.startswith("/"):
        raise RootError(
            f"{source} is the relative path {written!r}, which means another folder in every process. "
            f"Write the absolute path: {_normal(f'{posix.getcwd()}/{path}')}"
        )
    return _normal(path)


def _expanded(path: str, variables: dict[bytes, bytes]) -> str:
    if not path.startswith("~"):
        return path
    name, slash, rest = path[1:].partition("/")
    if not name:
        return _home(variables) + slash + rest
    try:
        return pwd.getpwnam(name).pw_dir + slash + rest
    except KeyError:
        return path


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def _base_folder(variables: dict[bytes, bytes], name: bytes, default: str) -> str:
    # The XDG rule: a relative value counts as none.
    path = _variable(variables, name)
    return _normal(path) if path.startswith("/") else _home(variables) + default


def _home(variables: dict[bytes, bytes]) -> str:
    return _normal(_variable(variables, b"HOME") or pwd.getpwuid(posix.getuid()).pw_dir)


def _variable(variables: dict[bytes, bytes], name: bytes) -> str:
    return variables.get(name, b"").decode("utf-8", "surrogateescape")


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs more than the whole start of a hook
            return file.read()
    except OSError:
        return None


def _record(path: str) -> dict[str, object] | None:
    raw = _read(path)
    if raw is None:
        return None
    try:
        value = parse(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _number(value: object) -> Number:
    return value if isinstance(value, Number) else Number("0")


def _text(value: object) -> str:
    return value if isinstance(value, str) and not isinstance(value, Number) else ""
