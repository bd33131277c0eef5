"""The log of the service: one line an event, `time level logger message`, or the same as JSON.

Theory of operation. `install` puts one handler on the root logger before anything is forked, so supervisor and owner
write through the same one and every library's logger ends there. Where a line goes is the caller's: log/server.log
through supervisor.files, which rotates, or a terminal. A line that cannot be written is lost, never raised: a log is no
reason to fail a call. A traceback becomes part of its line, with ` | ` for a line break.
"""

import json
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from kg import limits

WriteLine = Callable[[bytes], object]
QUIET = ("apscheduler", "asyncio", "concurrent")  # they report what they do every few seconds


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How the service logs. `level` is debug, info, warning, error or critical; `write` takes a line without its end.

    For log/server.log: functools.partial(supervisor.files.append_log, root, "server.log", disk=...); for a terminal:
    `to_stderr`.
    """

    level: str
    write: WriteLine
    as_json: bool = False


def install(settings: LogSettings) -> None:
    """Let every logger of this process, and of those forked from it, write through `settings.write`."""
    level = logging.getLevelNamesMapping().get(settings.level.upper(), logging.INFO)
    root = logging.getLogger()
    root.handlers = [LineHandler(settings.write, as_json=settings.as_json)]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def to_stderr(line: bytes) -> None:
    """Write a line to standard error; a closed terminal is fine."""
    try:
        sys.stderr.buffer.write(line + b"\n")
        sys.stderr.buffer.flush()
    except (OSError, ValueError):
        return


class LineHandler(logging.Handler):
    """Turns a record into a line of bytes and hands it over."""

    def __init__(self, write: WriteLine, *, as_json: bool) -> None:
        super().__init__()
        self._write = write
        self._as_json = as_json

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            line = _as_json(record) if self._as_json else _as_text(record)
            self._write(line.encode("utf-8", "backslashreplace"))
        except (OSError, ValueError, TypeError):  # the second and third: a call whose arguments do not fit its message
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Lose the record, and say so where somebody may look."""
        to_stderr(f"kg could not log a message of {record.pathname}:{record.lineno}".encode())


def _as_text(record: logging.LogRecord) -> str:
    return f"{_time(record)} {record.levelname.lower()} {record.name} {_message(record)}"


def _as_json(record: logging.LogRecord) -> str:
    parts = {
        "time": _time(record),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": _message(record),
        "pid": record.process,
    }
    return json.dumps(parts, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    parts = [record.getMessage()]
    if record.exc_info and record.exc_info[0] is not None:
        parts.append(logging.Formatter().formatException(record.exc_info))
    text = " | ".join(line.rstrip() for part in parts for line in part.splitlines() if line.strip())
    half = limits.LOG_VALUE_CHARS // 2
    return text if len(text) <= limits.LOG_VALUE_CHARS else f"{text[:half]} [...] {text[-half:]}"
