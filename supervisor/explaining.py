"""`kg explain ID`: why a node is in view or not, in a few lines."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from kg.limits import HEALTH_WAIT_S
from shim.client import request
from shim.root import server_of

DONE, PROBLEM, UNREACHABLE = 0, 1, 5
WHY = {
    "fresh": "it is one of the newest: unscored, never archived",
    "locked": "a person locked it: it stays active",
    "orphaned": "it is orphaned: only search and a read by id bring it back",
}


def explain(root: str, words: Sequence[str]) -> int:
    """Ask the service of this folder and print what it says."""
    parser = argparse.ArgumentParser(prog="kg explain", description="Why a node is in view or not.")
    parser.add_argument("id")
    parser.add_argument("--graph", default="user", help="user, maintain or projects/<slug> (kg status lists them)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(words)
    server = server_of(root)
    path = f"/explain?graph={quote(options.graph, safe='')}&id={quote(options.id, safe='')}"
    try:
        if server is None:
            return _say(f"no service has announced itself for {root}. kg start starts it.", UNREACHABLE)
        answer = request("GET", path, socket_path=server.socket, timeout_s=HEALTH_WAIT_S)
    except OSError as error:
        return _say(f"no service answers for {root}: {error}. kg start starts it.", UNREACHABLE)
    found: dict[str, Any] = json.loads(answer.body)
    if "error" in found:
        return _say(found["error"], PROBLEM)
    print(json.dumps(found, indent=2) if options.json else _lines(found))  # noqa: T201 - the command's answer
    return DONE


def _say(sentence: str, status: int) -> int:
    print(f"kg: {sentence}", file=sys.stderr)  # noqa: T201 - the command's answer
    return status


def _lines(found: dict[str, Any]) -> str:
    head = f"{found['id']}: {found['tier']}"
    edges = f"connected by its neighbours {found['weighted']:.4f}, by its number of edges {found['floor']:.4f}"
    if found["outside_pool"] is not None:
        return f"{head}; not scored: {WHY[found['outside_pool']]}\n  {edges}"
    rows = [f"{head}; score {found['score']:.3f}, rank {found['rank']} of {found['pool_size']}"]
    for name in ("recency", "connectedness", "usefulness"):
        column = found[name]
        rows.append(f"  {name:<14} percentile {column['percentile']:.3f}, adds {column['contribution']:.3f}")
    return "\n".join((*rows, f"  {edges}"))
