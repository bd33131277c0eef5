"""The clients: one row each, with the unit and the limits of what it is sent, and the form of its hooks' answers.

The client decides the unit of everything it is sent: Claude Code counts UTF-16 code units, Codex and Antigravity bytes.
A client that kg does not know is the last row. The limits leave room below each client's own one for its framing
(spec/rendering.md section 4).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kg.limits import (
    BYTES_PRELOAD,
    BYTES_PRELOAD_ANTIGRAVITY,
    CODEX_PART_BYTES,
    INLINE_PART_BYTES,
    UNITS_PART,
    UNITS_PRELOAD,
)
from kg.text import json_bytes, utf8_bytes, utf16_units


@dataclass(frozen=True, slots=True)
class Harness:
    """A client.

    Attributes:
        name: as callers and sessions carry it.
        measure: length of a text in the client's unit.
        part_measure: the same for a tool reply, as the client counts it: Codex shows replies inside JSON.
        preload_limit: of a preload and of any hook text, in that unit.
        part_limit: of a part of a tool reply, in that unit.
        events: names of the hook events that kg answers.
    """

    name: str
    measure: Callable[[str], int]
    preload_limit: int
    part_limit: int
    part_measure: Callable[[str], int]
    events: frozenset[str]


HOOK_EVENTS = frozenset({"SessionStart", "UserPromptSubmit"})
OTHER = Harness("other", utf16_units, UNITS_PRELOAD, UNITS_PART, utf16_units, frozenset())
ROWS: Mapping[str, Harness] = {
    "claude": Harness("claude", utf16_units, UNITS_PRELOAD, UNITS_PART, utf16_units, HOOK_EVENTS),
    "codex": Harness("codex", utf8_bytes, BYTES_PRELOAD, CODEX_PART_BYTES, json_bytes, HOOK_EVENTS),
    "antigravity": Harness(
        "antigravity", utf8_bytes, BYTES_PRELOAD_ANTIGRAVITY, INLINE_PART_BYTES, utf8_bytes, frozenset()
    ),
    "desktop": Harness("desktop", utf16_units, UNITS_PRELOAD, UNITS_PART, utf16_units, frozenset()),
}


def row_of(name: str) -> Harness:
    """The row of a client; the last one for a client that kg does not know."""
    return ROWS.get(name, OTHER)


@dataclass(frozen=True, slots=True)
class HookPayload:
    """What kg uses of a hook's stdin; None where it is missing or of the wrong type."""

    event: str
    client_id: str | None
    cwd: str | None
    source: str
    prompt: str


def hook_payload(event: str, document: object) -> HookPayload | None:
    """Read a hook's stdin tolerantly; None when it is no payload or names an event that kg does not know.

    Args:
        event: the event of the URL; the body's own name wins if it is a known one.
        document: the parsed stdin.
    """
    if not isinstance(document, dict):
        return None
    named = document.get("hook_event_name", event)
    if named not in HOOK_EVENTS:
        return None
    return HookPayload(
        event=str(named),
        client_id=_text(document.get("session_id")) or None,
        cwd=_text(document.get("cwd")) or None,
        source=_text(document.get("source")) or "unknown",
        prompt=_text(document.get("prompt")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def hook_reply(event: str, *, text: str, notice: str | None) -> Mapping[str, object] | None:
    """The envelope of a hook's answer for Claude Code and Codex; None for silence.

    Codex drops an answer with any field that it does not know, so there are exactly these.
    """
    reply: dict[str, object] = {}
    if notice and event == "SessionStart":
        reply["systemMessage"] = notice
    if text:
        reply["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    return reply or None
