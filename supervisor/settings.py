"""Settings: the environment wins over config.toml, which wins over the defaults (spec/operations.md section 5).

A key that kg does not know, or a value of the wrong type, is a problem that names it; the rest of the file still
counts. A bad variable falls back to its default with a problem. Budgets are no settings.
"""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kg.limits import HISTORY_DAYS, HISTORY_MIB, ORPHAN_GRACE_DAYS, PORT, SAVE_INTERVAL_S

HIGHEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service runs with. `port` None = no TCP; `problems` one sentence per value that could not be used."""

    host: str = "127.0.0.1"
    port: int | None = PORT
    log_level: str = "info"
    workers: int = 1
    save_interval_s: float = SAVE_INTERVAL_S
    orphan_grace_days: int = ORPHAN_GRACE_DAYS
    history_days: float = HISTORY_DAYS
    history_mib: float = HISTORY_MIB
    inside: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


def _port(value: object) -> int | None:
    if value == "off":
        return None
    port = int(str(value))
    if not 0 <= port <= HIGHEST_PORT:
        raise ValueError("0-65535 or off")
    return port


def _host(value: object) -> str:
    if value not in {"127.0.0.1", "localhost", "::1"}:
        raise ValueError("only the loopback: 127.0.0.1, localhost or ::1")
    return str(value)


def _level(value: object) -> str:
    if value not in {"debug", "info", "warning", "error"}:
        raise ValueError("debug, info, warning or error")
    return str(value)


def _positive(value: object) -> float:
    number = float(str(value))
    if not number > 0:
        raise ValueError("a number above 0")
    return number


def _whole(value: object) -> int:
    return int(str(value))


def _count(value: object) -> int:
    number = int(str(value))
    if number < 1:
        raise ValueError("a whole number from 1")
    return number


def _folders(value: object) -> tuple[Path, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of folders")
    return tuple(Path(item).expanduser() for item in value)


@dataclass(frozen=True, slots=True)
class _Row:
    field: str
    key: str
    variable: str | None
    read: Callable[[object], object]


ROWS = (
    _Row("host", "server.host", "KG_HOST", _host),
    _Row("port", "server.port", "KG_PORT", _port),
    _Row("workers", "server.workers", "KG_WORKERS", _count),
    _Row("log_level", "log.level", "KG_LOG_LEVEL", _level),
    _Row("save_interval_s", "storage.save_interval_s", "KG_SAVE_INTERVAL", _positive),
    _Row("orphan_grace_days", "storage.orphan_grace_days", "KG_ORPHAN_GRACE_DAYS", _whole),
    _Row("history_days", "storage.history_days", None, _positive),
    _Row("history_mib", "storage.history_mib", None, _positive),
    _Row("inside", "projects.inside", None, _folders),
)


def load_settings(root: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of a storage folder."""
    written, problems = _config(root / "config.toml")
    values: dict[str, object] = {}
    for row in ROWS:
        sources = ((row.variable, environment.get(row.variable or "")), (row.key, written.pop(row.key, None)))
        for name, value in sources:
            if value is None:
                continue
            try:
                values[row.field] = row.read(value)
            except (ValueError, TypeError) as error:
                problems.append(f"{name}={value!r} is not used: {error}")
                continue
            break
    problems.extend(f"config.toml: {key} is no setting of kg" for key in written)
    return Settings(**values, problems=tuple(problems))  # type: ignore[arg-type]


def _config(path: Path) -> tuple[dict[str, object], list[str]]:
    """Dotted keys of config.toml, and what is wrong with it."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, [f"config.toml cannot be read: {error}"]
    flat: dict[str, object] = {}
    for table, entries in document.items():
        if isinstance(entries, dict):
            flat |= {f"{table}.{key}": value for key, value in entries.items()}
        else:
            flat[table] = entries
    return flat, []
