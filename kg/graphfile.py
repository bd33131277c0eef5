"""Graph files: what a person may read and edit, checked by rule when it comes back.

A file that breaks a rule is refused as a whole with line and key, so that nothing is guessed and nothing is lost: a
duplicate id, two edges of one key, a wrong type, an id that no tool would take, merge markers, a newer format.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kg.codec import from_json
from kg.documents import Json, edge_from, node_from
from kg.errors import DocumentInvalid
from kg.graph import Edge, Graph, Node
from kg.limits import FORMAT

BOM = b"\xef\xbb\xbf"
_CONFLICT = re.compile(rb"^(<{7}|={7}|>{7})( |$|\r)", re.MULTILINE)
_META = frozenset({"format", "seq", "namespace", "root", "progress"})
_TOP = frozenset({"meta", "nodes", "edges"})


@dataclass(frozen=True, slots=True)
class GraphDocument:
    """Content of a graph file. `seq` is the event that it holds last."""

    seq: int
    root: str | None
    nodes: Mapping[str, Node]
    edges: Mapping[tuple[str, str, str], Edge]
    progress: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def graph_meta(graph: Graph) -> Json:
    """The `meta` object of a graph's file."""
    kind = graph.level
    return {
        "format": FORMAT,
        "seq": graph.seq,
        "namespace": {"kind": kind, "owner": None},
        "root": graph.root,
        "progress": dict(sorted(graph.progress.items())),
        **graph.extra,
    }


def parse_graph(data: bytes, *, ours: bool = False) -> GraphDocument:
    """Read the bytes of a graph file.

    Args:
        data: the file.
        ours: the bytes are known to be what kg wrote, so duplicates need not be looked for.

    Raises:
        DocumentInvalid: says where and why.
    """
    document = from_json(data) if ours else _strict(data)
    if not isinstance(document, dict):
        raise DocumentInvalid(1, None, "the file must hold one JSON object")
    try:
        return _graph(document)
    except DocumentInvalid as error:
        raise DocumentInvalid(_line_of(data, error.key), error.key, error.cause) from None


def _strict(data: bytes) -> Any:  # noqa: ANN401 - JSON is any value
    """Parse like a careful reader: a byte order mark is fine, a key that stands twice is not."""
    data = data.removeprefix(BOM)
    if not data.strip():
        raise DocumentInvalid(1, None, "the file is empty")
    if found := _CONFLICT.search(data):
        raise DocumentInvalid(_line_at(data, found.start()), None, "a merge conflict of git is not resolved")
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise DocumentInvalid(_line_at(data, error.start), None, "the bytes are not UTF-8") from None
    except json.JSONDecodeError as error:
        raise DocumentInvalid(error.lineno, None, f"not valid JSON: {error.msg}") from None
    except RecursionError:
        raise DocumentInvalid(None, None, "nested too deeply") from None
    except _TwiceError as error:
        key = str(error)
        raise DocumentInvalid(_line_of(data, key, last=True), key, "stands twice") from None


class _TwiceError(ValueError):
    """A key stands twice in one object."""


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _TwiceError(key)
            seen.add(key)
    return made


def _no_constant(name: str) -> None:
    raise DocumentInvalid(None, None, f"{name} is no JSON number")


def _graph(document: dict[str, Any]) -> GraphDocument:
    meta = document.get("meta", {})
    if not isinstance(meta, dict):
        raise DocumentInvalid(None, "meta", "must be an object")
    version, seq, root = meta.get("format", FORMAT), meta.get("seq", 0), meta.get("root")
    if type(version) is not int or version > FORMAT:
        raise DocumentInvalid(None, "format", f"format {version!r} was written by a newer kg, run kg update")
    if type(seq) is not int or seq < 0:
        raise DocumentInvalid(None, "seq", "must be a whole number from 0")
    if root is not None and not isinstance(root, str):
        raise DocumentInvalid(None, "root", "must be a path or null")
    progress = meta.get("progress", {})
    if not isinstance(progress, dict) or not all(isinstance(state, dict) for state in progress.values()):
        raise DocumentInvalid(None, "progress", "must be an object of objects")
    extra = {name: value for name, value in meta.items() if name not in _META}
    return GraphDocument(seq, root, _nodes(document), _edges(document), progress, extra)


def _nodes(document: dict[str, Any]) -> dict[str, Node]:
    found = document.get("nodes")
    if not isinstance(found, dict):
        raise DocumentInvalid(None, "nodes", "must be an object of nodes")
    nodes: dict[str, Node] = {}
    for key, value in found.items():
        node = node_from(key, value)
        if node.id in nodes:
            raise DocumentInvalid(None, key, "is the id of two nodes")
        nodes[node.id] = node
    return nodes


def _edges(document: dict[str, Any]) -> dict[tuple[str, str, str], Edge]:
    found = document.get("edges")
    if not isinstance(found, list):
        raise DocumentInvalid(None, "edges", "must be a list of edges")
    edges: dict[tuple[str, str, str], Edge] = {}
    for number, value in enumerate(found):
        edge = edge_from(value, key=f"edges[{number}]")
        if edge.key in edges:
            raise DocumentInvalid(None, edge.source, f"the edge {' '.join(edge.key)} stands twice")
        edges[edge.key] = edge
    return edges


def _line_at(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _line_of(data: bytes, key: str | None, *, last: bool = False) -> int | None:
    """Line on which the last name of a dotted key stands, as far as it can be told from the text."""
    if not key:
        return None
    start = 0
    for name in key.split("."):
        quoted = json.dumps(name, ensure_ascii=False).encode()
        found = data.rfind(quoted) if last else data.find(quoted, start)
        if found < 0:
            return _line_at(data, start) if start else None
        start = found
    return _line_at(data, start)
