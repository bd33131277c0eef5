"""Graph files: what a person may read and edit, checked by rule when it comes back.

A file that breaks a rule is refused as a whole with line and key, so that nothing is guessed and nothing is lost: a
duplicate id, two edges of one key, a wrong type, an id that no tool would take, merge markers, a newer format.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from kg.codec import from_json
from kg.documents import Json, edge_from, node_from, own_edge, own_node
from kg.errors import DocumentInvalid, Refusal
from kg.graph import Edge, Graph, Node
from kg.limits import DOCUMENT_DEPTH, FORMAT
from kg.positions import line_at, line_of, repeated_key
from kg.text import clean_gist, clean_notes, clean_touches, quoted, whole_text

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
    if ours:
        return _own(from_json(data))
    text = _text(data)
    document = _strict(text)
    if not isinstance(document, dict):
        raise DocumentInvalid(1, None, "the file must hold one JSON object")
    try:
        return _cleaned(_graph(_storable(document)))
    except DocumentInvalid as error:
        line = error.line if error.key is None else line_of(text, error.key)
        raise DocumentInvalid(line, error.key, error.cause) from None


def _text(data: bytes) -> str:
    """The file as text: a byte order mark is fine, other encodings and merge markers are not."""
    data = data.removeprefix(BOM)
    if not data.strip():
        raise DocumentInvalid(1, None, "the file is empty")
    if found := _CONFLICT.search(data):
        raise DocumentInvalid(line_at(data, found.start()), None, "a merge conflict of git is not resolved")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentInvalid(line_at(data, error.start), None, "the bytes are not UTF-8") from None


def _strict(text: str) -> Any:  # noqa: ANN401 - JSON is any value
    """Parse like a careful reader: a key that stands twice is a fault, and so is what JSON does not have."""
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise DocumentInvalid(error.lineno, None, f"not valid JSON: {error.msg}") from None
    except RecursionError:
        raise DocumentInvalid(None, None, "nested too deeply") from None
    except _NoNumberError as error:
        raise DocumentInvalid(line_at(text, text.find(str(error))), None, f"{error} is no JSON number") from None
    except _TwiceError as error:
        key, line = repeated_key(text) or (str(error), None)
        raise DocumentInvalid(line, quoted(key), "stands twice") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise DocumentInvalid(None, None, f"a number cannot be read: {error}") from None


def _storable(value: Any, depth: int = 0, key: str | None = None) -> Any:  # noqa: ANN401 - JSON is any value
    """The value as it can be written back and into the log, keys that kg does not know included."""
    if depth > DOCUMENT_DEPTH:
        raise DocumentInvalid(None, key, f"is nested deeper than {DOCUMENT_DEPTH} levels")
    match value:
        case str():
            return value if value.isascii() else whole_text(value)
        case dict():
            return {whole_text(name): _storable(item, depth + 1, name) for name, item in value.items()}
        case list():
            return [_storable(item, depth + 1, key) for item in value]
        case int() if not -(2**63) <= value < 2**63:
            raise DocumentInvalid(None, key, "is a number of more than 64 bits")
        case float() if not isfinite(value):
            raise DocumentInvalid(None, key, "is a number beyond all bounds")
        case _:
            return value


def _cleaned(document: GraphDocument) -> GraphDocument:
    """Texts through the same door as those of the tools: one-line gists, no controls, touches that can be files."""
    nodes = {node_id: _clean_node(node) for node_id, node in document.nodes.items()}
    edges = {key: _clean_edge(edge) for key, edge in document.edges.items()}
    return replace(document, nodes=nodes, edges=edges)


def _clean_node(node: Node) -> Node:
    texts: dict[str, Any] = {}
    for name, clean in (("gist", clean_gist), ("notes", clean_notes), ("touches", clean_touches)):
        try:
            texts[name] = clean(getattr(node, name))
        except Refusal as refusal:
            raise DocumentInvalid(None, f"{node.id}.{name}", refusal.text) from None
    same = all(getattr(node, name) == value for name, value in texts.items())
    return node if same else replace(node, **texts)


def _clean_edge(edge: Edge) -> Edge:
    try:
        notes = clean_notes(edge.notes)
    except Refusal as refusal:
        raise DocumentInvalid(None, edge.source, refusal.text) from None
    return edge if notes == edge.notes else replace(edge, notes=notes)


class _NoNumberError(ValueError):
    """NaN or Infinity."""


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
    raise _NoNumberError(name)


def _own(document: dict[str, Any]) -> GraphDocument:
    """A file whose bytes kg wrote: its form is known."""
    meta = document["meta"]
    nodes = {key: own_node(key, value) for key, value in document["nodes"].items()}
    edges = {edge.key: edge for edge in map(own_edge, document["edges"])}
    extra = {name: value for name, value in meta.items() if name not in _META}
    return GraphDocument(meta["seq"], meta["root"], nodes, edges, meta["progress"], extra)


def _graph(document: dict[str, Any]) -> GraphDocument:
    if unknown := sorted(document.keys() - _TOP):
        raise DocumentInvalid(None, unknown[0], "is no part of a graph file; meta keeps what else it shall hold")
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
            raise DocumentInvalid(None, f"edges[{number}]", f"the edge {quoted(' '.join(edge.key))} stands twice")
        edges[edge.key] = edge
    return edges
