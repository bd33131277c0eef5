"""The ten tools as a client sees them: one row each, in the order in which they are listed.

A row holds what is published (description, schema, annotations) and how arguments that passed the schema become a
command. The descriptions carry the doctrine, since they are what changes a model's behaviour; every conversation pays
for them, so they are short.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kg import commands
from kg.commands import Command, Place
from kg.limits import CREDITS_MOST, READ_IDS_MOST, USEFUL_IDS_MOST
from web import doctrine

Arguments = Mapping[str, Any]
Locate = Callable[[str], Awaitable[Place]]

_SID = {"type": "string", "description": "8 hex characters from kg_read"}
_LEVEL = {"type": "string", "enum": ["user", "project", "maintain"]}
_NOTES = {
    "type": "array",
    "items": {"type": "string"},
    "description": "replaces the stored list whole; leave out to keep it, [] empties it",
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A row of the table.

    Attributes:
        name: as it is called.
        title: for people.
        description: for the model.
        schema: JSON schema of the arguments, in the subset that `kg.schema` checks.
        decode: valid arguments, and the place of a cwd argument, to a command. None: a row of a test build, which
            answers by itself.
        read_only: it changes no content.
        destructive: it deletes.
        idempotent: the same call again changes nothing more.
        answer: what a row of a test build answers.
    """

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    decode: Callable[[Arguments, Place | None], Command] | None
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    answer: Callable[[Arguments], Mapping[str, Any]] | None = field(default=None)

    def published(self) -> dict[str, Any]:
        """The tool as tools/list shows it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": False,
            },
            "_meta": {"anthropic/alwaysLoad": True},
        }


def _object(required: Sequence[str], properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _texts(values: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _read(arguments: Arguments, place: Place | None) -> Command:
    ids = (*([arguments["id"]] if "id" in arguments else []), *arguments.get("ids", ()))
    return commands.Read(
        session_id=arguments.get("session_id"),
        place=place,
        ids=ids,
        level=arguments.get("level"),
        maintenance=arguments.get("maintenance", False),
        more=arguments.get("more", False),
    )


def _search(arguments: Arguments, _place: Place | None) -> Command:
    return commands.Search(arguments["query"], arguments.get("session_id"), arguments.get("level"))


def _put_node(arguments: Arguments, _place: Place | None) -> Command:
    return commands.PutNode(
        arguments["session_id"],
        arguments["level"],
        arguments["id"],
        arguments["gist"],
        _texts(arguments.get("notes")),
        _texts(arguments.get("touches")),
    )


def _put_edge(arguments: Arguments, _place: Place | None) -> Command:
    return commands.PutEdge(
        arguments["session_id"],
        arguments["level"],
        arguments["from"],
        arguments["to"],
        arguments["rel"],
        _texts(arguments.get("notes")),
    )


def _rename_node(arguments: Arguments, _place: Place | None) -> Command:
    return commands.RenameNode(
        arguments["session_id"], arguments["old_id"], arguments["new_id"], arguments.get("level")
    )


def _delete_node(arguments: Arguments, _place: Place | None) -> Command:
    return commands.DeleteNode(arguments["session_id"], arguments["id"], arguments.get("level"))


def _delete_edge(arguments: Arguments, _place: Place | None) -> Command:
    return commands.DeleteEdge(
        arguments["session_id"], arguments["from"], arguments["to"], arguments["rel"], arguments.get("level")
    )


def _useful(arguments: Arguments, _place: Place | None) -> Command:
    return commands.Useful(
        arguments["session_id"], tuple(arguments["ids"]), arguments.get("credits"), arguments.get("level")
    )


def _sync(arguments: Arguments, _place: Place | None) -> Command:
    return commands.Sync(arguments["session_id"])


def _progress(arguments: Arguments, _place: Place | None) -> Command:
    return commands.Progress(
        arguments["session_id"], arguments["task_id"], arguments.get("state"), arguments.get("level", "user")
    )


_TEXT = {"type": "string"}
_ENDS = {"session_id": _SID, "level": _LEVEL, "from": _TEXT, "to": _TEXT, "rel": _TEXT}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "kg_read",
        "Read memory",
        doctrine.KG_READ,
        _object(
            (),
            {
                "cwd": {"type": "string", "description": "absolute path of the folder you work in"},
                "session_id": _SID,
                "id": {"type": "string", "description": "one node in full"},
                "ids": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": READ_IDS_MOST},
                "level": _LEVEL,
                "maintenance": {"type": "boolean", "description": "mark this session as one that tends the graph"},
                "more": {"type": "boolean", "description": "next part of the last long reply; with session_id only"},
            },
        ),
        _read,
        read_only=True,
    ),
    Tool(
        "kg_search",
        "Search memory",
        doctrine.KG_SEARCH,
        _object(
            ("query",),
            {
                "query": {"type": "string", "description": "a few words, names or paths"},
                "session_id": _SID,
                "level": _LEVEL,
            },
        ),
        _search,
        read_only=True,
    ),
    Tool(
        "kg_put_node",
        "Write a node",
        doctrine.KG_PUT_NODE,
        _object(
            ("session_id", "level", "id", "gist"),
            {
                "session_id": _SID,
                "level": _LEVEL,
                "id": {"type": "string", "description": "3-5 words joined by hyphens"},
                "gist": {"type": "string", "description": "the claim, one line, at most 300 characters"},
                "notes": _NOTES,
                "touches": {**_NOTES, "description": "files it is about, e.g. src/auth.py:40-88; replaces the list"},
            },
        ),
        _put_node,
        idempotent=True,
    ),
    Tool(
        "kg_put_edge",
        "Write an edge",
        doctrine.KG_PUT_EDGE,
        _object(("session_id", "level", "from", "to", "rel"), {**_ENDS, "notes": _NOTES}),
        _put_edge,
        idempotent=True,
    ),
    Tool(
        "kg_rename_node",
        "Rename a node",
        doctrine.KG_RENAME_NODE,
        _object(
            ("session_id", "old_id", "new_id"),
            {"session_id": _SID, "old_id": _TEXT, "new_id": _TEXT, "level": _LEVEL},
        ),
        _rename_node,
        idempotent=True,
    ),
    Tool(
        "kg_delete_node",
        "Delete a node",
        doctrine.KG_DELETE_NODE,
        _object(("session_id", "id"), {"session_id": _SID, "id": _TEXT, "level": _LEVEL}),
        _delete_node,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "kg_delete_edge",
        "Delete an edge",
        doctrine.KG_DELETE_EDGE,
        _object(("session_id", "from", "to", "rel"), _ENDS),
        _delete_edge,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "kg_useful",
        "Endorse nodes",
        doctrine.KG_USEFUL,
        _object(
            ("session_id", "ids"),
            {
                "session_id": _SID,
                "ids": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": USEFUL_IDS_MOST},
                "credits": {"type": "integer", "minimum": 1, "maximum": CREDITS_MOST},
                "level": _LEVEL,
            },
        ),
        _useful,
    ),
    Tool(
        "kg_sync",
        "What others changed",
        doctrine.KG_SYNC,
        _object(("session_id",), {"session_id": _SID}),
        _sync,
        read_only=True,
    ),
    Tool(
        "kg_progress",
        "Keep a task's state",
        doctrine.KG_PROGRESS,
        _object(
            ("session_id", "task_id"),
            {"session_id": _SID, "task_id": _TEXT, "state": {"type": "object"}, "level": _LEVEL},
        ),
        _progress,
    ),
)
