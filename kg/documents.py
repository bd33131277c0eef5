"""Values as JSON objects: the form that nodes, edges, sessions and graphs have in files and in events.

Reading is strict: a wrong type, an unknown tier or a bad id is a `DocumentInvalid` that names the key, never a guess.
Optional fields are left out when empty; keys that kg does not know are kept and written back.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kg.errors import DocumentInvalid, Refusal
from kg.graph import TIERS, Edge, Node
from kg.names import clean_endpoint, clean_id, clean_rel

Json = dict[str, Any]

# name of the field, here and in the document -> (kind of value, written even when empty)
_NODE_FIELDS: Mapping[str, tuple[str, bool]] = {
    "gist": ("text", True),
    "notes": ("texts", True),
    "touches": ("texts", True),
    "tier": ("tier", True),
    "created": ("time", True),
    "created_seq": ("seq", True),
    "content_seq": ("seq", True),
    "by": ("text", True),
    "author": ("text?", False),
    "used": ("time?", False),
    "read": ("time?", False),
    "useful": ("times", False),
    "credited": ("times", False),
    "recurrences": ("seqs", False),
    "gist_changes": ("times", False),
    "orphaned": ("time?", False),
    "locked": ("flag", False),
}
_ABSENT: Mapping[str, Any] = {
    "text": "", "text?": None, "texts": (), "time": "", "time?": None, "times": (), "seqs": (), "seq": 0, "flag": False,
    "tier": "active",
}  # fmt: skip
_WHAT: Mapping[str, str] = {
    "text": "a text",
    "text?": "a text",
    "texts": "a list of texts",
    "time": "a time such as 2026-03-02T09:15:02.114Z",
    "time?": "a time such as 2026-03-02T09:15:02.114Z",
    "times": "a list of times such as 2026-03-02T09:15:02.114Z",
    "seqs": "a list of sequence numbers",
    "seq": "a whole number from 0",
    "flag": "true or false",
    "tier": "active, archived or orphaned",
}


_CLEARED = frozenset({"text?", "time?"})


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _is_seq(value: object) -> bool:
    return type(value) is int and value >= 0


def _fits(kind: str, value: object) -> bool:
    match kind:
        case "text" | "text?" | "time" | "time?":
            return isinstance(value, str)
        case "texts" | "times":
            return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        case "seqs":
            return isinstance(value, list | tuple) and all(_is_seq(item) for item in value)
        case "seq":
            return _is_seq(value)
        case "flag":
            return isinstance(value, bool)
        case _:
            return value in TIERS


def node_fields(document: Mapping[str, Any], *, key: str = "node", clearing: bool = False) -> Json:
    """Check the known fields that a document has and give them as attribute values (lists become tuples).

    Args:
        document: a node of a file, or the changes of an event.
        key: how the document is called in an error.
        clearing: null takes an optional text away, as events do; a file leaves such a field out.

    Raises:
        DocumentInvalid: a field of the wrong type.
    """
    fields: Json = {}
    for name, value in document.items():
        row = _NODE_FIELDS.get(name)
        if row is None:
            continue
        if not _fits(row[0], value) and not (clearing and value is None and row[0] in _CLEARED):
            raise DocumentInvalid(None, f"{key}.{name}", f"must be {_WHAT[row[0]]}")
        fields[name] = tuple(value) if isinstance(value, list) else value
    return fields


def node_from(node_id: str, document: object) -> Node:
    """Read a node.

    Raises:
        DocumentInvalid: names the key that is wrong.
    """
    try:
        clean = clean_id(node_id)
    except Refusal:
        raise DocumentInvalid(None, node_id, "is no valid id") from None
    if not isinstance(document, dict):
        raise DocumentInvalid(None, node_id, "must be an object")
    fields = node_fields(document, key=node_id)
    for name, value in fields.items():
        kind = _NODE_FIELDS[name][0]
        times = (value,) if kind in {"time", "time?"} and value else value if kind == "times" else ()
        if not all(map(_is_time, times)):
            raise DocumentInvalid(None, f"{node_id}.{name}", f"must be {_WHAT[kind]}")
    if not fields.get("gist"):
        raise DocumentInvalid(None, f"{node_id}.gist", "must be a text that is not empty")
    extra = {name: value for name, value in document.items() if name not in _NODE_FIELDS}
    return Node(id=clean, extra=extra, **fields)


def own_node(node_id: str, document: Json) -> Node:
    """Read a node that kg wrote itself: nothing is checked, which is several times as fast."""
    fields: Json = {
        name: tuple(value) if type(value) is list else value for name, value in document.items() if name in _NODE_FIELDS
    }
    if len(fields) != len(document):
        fields["extra"] = {name: value for name, value in document.items() if name not in _NODE_FIELDS}
    return Node(node_id, **fields)


def own_edge(document: Json) -> Edge:
    """Read an edge that kg wrote itself."""
    extra = {name: value for name, value in document.items() if name not in _EDGE_FIELDS}
    return Edge(
        document["from"], document["rel"], document["to"], tuple(document.get("notes", ())), document["seq"],
        document["by"], extra,
    )  # fmt: skip


def node_document(node: Node) -> Json:
    """Write a node; keys in the fixed order, empty optional fields left out."""
    document: Json = {}
    for name, (kind, always) in _NODE_FIELDS.items():
        value = getattr(node, name)
        if always or value != _ABSENT[kind]:
            document[name] = list(value) if isinstance(value, tuple) else value
    return {**document, **node.extra}


_EDGE_FIELDS = ("from", "rel", "to", "notes", "seq", "by")


def edge_from(document: object, *, key: str = "edge") -> Edge:
    """Read an edge.

    Raises:
        DocumentInvalid: names the key that is wrong.
    """
    if not isinstance(document, dict):
        raise DocumentInvalid(None, key, "must be an object")
    ends: list[str] = []
    for name, clean in (("from", clean_endpoint), ("rel", clean_rel), ("to", clean_endpoint)):
        value = document.get(name)
        if not isinstance(value, str):
            raise DocumentInvalid(None, f"{key}.{name}", "is missing or no text")
        try:
            ends.append(clean(value))
        except Refusal:
            raise DocumentInvalid(None, f"{key}.{name}", "is not valid") from None
    source, rel, target = ends
    notes, seq, by = document.get("notes", []), document.get("seq", 0), document.get("by", "")
    for name, value, kind in (("notes", notes, "texts"), ("seq", seq, "seq"), ("by", by, "text")):
        if not _fits(kind, value):
            raise DocumentInvalid(None, f"{key}.{name}", f"must be {_WHAT[kind]}")
    extra = {name: value for name, value in document.items() if name not in _EDGE_FIELDS}
    return Edge(source, rel, target, tuple(notes), seq, by, extra)


def edge_document(edge: Edge) -> Json:
    """Write an edge."""
    document: Json = {"from": edge.source, "rel": edge.rel, "to": edge.target}
    if edge.notes:
        document["notes"] = list(edge.notes)
    return {**document, "seq": edge.seq, "by": edge.by, **edge.extra}
