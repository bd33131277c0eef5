"""`kg status`: what runs and whether it is well, on one screen."""

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from kg.limits import HEALTH_WAIT_S
from shim.client import request
from shim.root import server_of, start_error_of

DONE, PROBLEM, UNREACHABLE = 0, 1, 5


def show(root: str, *, as_json: bool) -> int:
    """Print the health of the service of this folder; 5 when none answers, 1 when it is not well."""
    server = server_of(root)
    if server is None:
        return _unreachable(root, "none has announced itself", as_json=as_json)
    try:
        answer = request("GET", "/health", socket_path=server.socket, timeout_s=HEALTH_WAIT_S)
        report: dict[str, Any] = json.loads(answer.body)
    except (OSError, ValueError) as error:
        return _unreachable(root, str(error), as_json=as_json)
    if as_json:
        print(json.dumps({**report, "socket": server.socket, "port": server.port}, indent=2))  # noqa: T201
    else:
        _screen(report, socket=server.socket, port=server.port)
    return DONE if report.get("status") == "ok" else PROBLEM


def _unreachable(root: str, cause: str, *, as_json: bool) -> int:
    failed = start_error_of(root)
    sentence = f"no service answers for {root}: {cause}. kg start starts it."
    if failed is not None:
        sentence += f" The last start failed: {failed.cause}"
    print(json.dumps({"status": "down", "root": root, "problems": [sentence]}) if as_json else f"kg: {sentence}")  # noqa: T201
    return UNREACHABLE


def _screen(report: dict[str, Any], *, socket: str, port: int | None) -> None:
    console = Console(highlight=False, soft_wrap=True)
    journal, deliveries = report["journal"], report["deliveries"]
    console.print(f"kg {report['version']}: {report['status']}, up {report['uptime_s']:.0f} s")
    console.print(f"storage   {report['root']}", markup=False)
    console.print(f"sockets   {socket}{f', 127.0.0.1:{port}' if port else ''}", markup=False)
    console.print(
        f"journal   seq {journal['seq']}, {journal['unsaved_events']} unsaved, {journal['segments']} segments"
    )
    sessions = ", ".join(f"{count} {harness}" for harness, count in sorted(report["sessions"].items())) or "none"
    console.print(f"sessions  {sessions}; {deliveries['unacknowledged']} deliveries under way")
    console.print(_levels(report["graphs"]["levels"]))
    console.print(_processes(report["processes"]))
    for problem in report["problems"]:
        console.print(f"problem: {problem}", markup=False)


def _levels(rows: list[dict[str, Any]]) -> Table:
    table = Table("graph", "active", "archived", "orphaned", "edges", "size", "of budget", box=None)
    for row in rows:
        counts = [str(row[name]) for name in ("active", "archived", "orphaned", "edges", "size")]
        table.add_row(row["graph"], *counts, f"{100 * row['size'] / row['budget']:.0f} %")
    return table


def _processes(rows: list[dict[str, Any]]) -> Table:
    table = Table("process", "pid", "RSS MiB", "CPU s", "threads", "age s", box=None)
    for row in rows:
        rss = f"{row['rss_bytes'] / 2**20:.1f}"
        table.add_row(
            row["role"], str(row["pid"]), rss, str(row["cpu_seconds"]), str(row["threads"]), str(row["age_s"])
        )
    return table
