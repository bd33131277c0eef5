"""On which line of a JSON text something stands, for errors that a person has to find.

Parsers do not tell, so the text is looked through once more, and only when there is something to complain about.
"""

import json
import re
from collections.abc import Iterator

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]')
_EDGE = re.compile(r"edges\[([0-9]+)\](?:\.(\w+))?")


def line_of(text: str, key: str) -> int | None:
    """Line of a key as kg.documents and kg.graphfile name it: `edges[3].rel`, a node's id, or id and field."""
    paths = list(_paths(text))
    found = _EDGE.fullmatch(key)
    if found is not None:
        wanted = ("edges", int(found[1]), *((found[2],) if found[2] else ()))
        return _first(text, paths, wanted) or _first(text, paths, wanted[:2])
    node_id, _, name = key.rpartition(".")
    tries: list[tuple[str | int, ...]] = [("nodes", key), ("nodes", node_id, name), ("nodes", node_id)]
    tries += [("meta", key), (key,)]
    known = (line for wanted in tries if (line := _first(text, paths, wanted)))
    named = (line_at(text, offset) for path, offset in paths if path[-1] == key)
    return next(known, None) or next(named, None)


def repeated_key(text: str) -> tuple[str, int] | None:
    """The first key that stands twice in one object, and the line of its second place."""
    seen: set[tuple[str | int, ...]] = set()
    for path, offset in _paths(text):
        if isinstance(path[-1], str):
            if path in seen:
                return path[-1], line_at(text, offset)
            seen.add(path)
    return None


def line_at(text: str | bytes, offset: int) -> int:
    """Line of an offset, from 1."""
    return (text.count("\n", 0, offset) if isinstance(text, str) else text.count(b"\n", 0, offset)) + 1


def _first(text: str, paths: list[tuple[tuple[str | int, ...], int]], wanted: tuple[str | int, ...]) -> int | None:
    return next((line_at(text, offset) for path, offset in paths if path == wanted), None)


def _paths(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """The way to every key and list item of a valid JSON text, each with its offset.

    An object that is nested in two objects of one path (a key that stands twice) is told apart by nothing; the second
    key is reported before its content is reached.
    """
    way: list[str | int] = []
    objects: list[bool] = []  # per open bracket: whether it is an object
    fresh = False  # a new item may begin here
    for token in _TOKEN.finditer(text):
        sign = token.group()
        in_list = bool(objects) and not objects[-1]
        if fresh and in_list and sign not in "]}":
            yield tuple(way), token.start()
            fresh = False
        if sign in "{[":
            objects.append(sign == "{")
            way.append(0 if sign == "[" else "")
            fresh = True
        elif sign in "}]" and objects:
            objects.pop()
            way.pop()
            fresh = False
        elif sign == "," and objects:
            if in_list:
                way[-1] = int(way[-1]) + 1
            fresh = True
        elif sign.startswith('"') and fresh and objects and objects[-1]:
            way[-1] = json.loads(sign, strict=False)
            fresh = False
            yield tuple(way), token.start()
