"""Bytes and values: the JSON of log lines and graph files. The one place of the core that knows orjson.

A graph file is UTF-8, two blanks of indent, one value a line, keys in a fixed order, a final newline, so that a diff of
two versions shows what changed. It is written in pieces: a node is encoded by itself, so a large graph never holds up
the loop (spec/storage.md section 5).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from kg.documents import Json, edge_document, node_document
from kg.events import Event, decode, encode
from kg.graph import Edge, Node

_PRETTY = orjson.OPT_INDENT_2


def event_line(event: Event) -> bytes:
    """An event as a line of the log, without its line break."""
    return orjson.dumps(encode(event))


def event_from_line(line: bytes) -> Event:
    """Read a line of the log.

    Raises:
        ValueError: not JSON, or no event that this version knows.
    """
    document = orjson.loads(line)
    if not isinstance(document, dict):
        raise ValueError("the line is no JSON object")
    return decode(document)


def to_json(value: object) -> str:
    """Compact JSON text."""
    return orjson.dumps(value).decode()


def packed_json(value: object) -> bytes:
    """Compact JSON as bytes."""
    return orjson.dumps(value)


def json_size(value: object) -> int:
    """Bytes of a value as compact JSON."""
    return len(orjson.dumps(value))


def pretty_json(value: object) -> bytes:
    """JSON for people, with a final newline."""
    return orjson.dumps(value, option=_PRETTY | orjson.OPT_APPEND_NEWLINE)


def from_json(data: bytes | str) -> Any:  # noqa: ANN401 - JSON is any value
    """Parse JSON.

    Raises:
        ValueError: not valid JSON or not UTF-8.
    """
    return orjson.loads(data)


def graph_pieces(meta: Mapping[str, Any], nodes: Sequence[Node], edges: Sequence[Edge]) -> Iterator[bytes]:
    """The bytes of a graph file, piece by piece; each piece is one node or edge.

    Args:
        meta: the `meta` object.
        nodes: in id order.
        edges: in key order.
    """
    yield b'{\n  "meta": ' + _indented(meta, 2)
    yield b',\n  "nodes": ' + (b"{" if nodes else b"{}")
    for number, node in enumerate(nodes):
        start = b",\n    " if number else b"\n    "
        yield start + orjson.dumps(node.id) + b": " + _indented(node_document(node), 4)
    yield (b"\n  }" if nodes else b"") + b',\n  "edges": ' + (b"[" if edges else b"[]")
    for number, edge in enumerate(edges):
        yield (b",\n    " if number else b"\n    ") + _indented(edge_document(edge), 4)
    yield (b"\n  ]" if edges else b"") + b"\n}\n"


def _indented(value: object, blanks: int) -> bytes:
    """Pretty JSON, moved right. Line breaks inside texts are escaped, so every raw one is structure."""
    return orjson.dumps(value, option=_PRETTY).replace(b"\n", b"\n" + b" " * blanks)


def table_bytes(document: Json) -> bytes:
    """The bytes of sessions.json."""
    return pretty_json(document)
