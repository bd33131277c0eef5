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

Envelope = Callable[[str, str, str | None], Mapping[str, object] | None]


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
        silent: names of its further events, to which kg has nothing to say: a hook for one is no mistake.
        envelope: makes of event, text and notice what the client's hook prints. None: it has no hooks that kg answers.
    """

    name: str
    measure: Callable[[str], int]
    preload_limit: int
    part_limit: int
    part_measure: Callable[[str], int]
    events: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    envelope: Envelope | None = None


def _context(event: str, text: str, notice: str | None) -> Mapping[str, object] | None:
    """What Claude Code and Codex take. Codex drops an answer with any field that it does not know."""
    reply: dict[str, object] = {}
    if notice and event == "SessionStart":
        reply["systemMessage"] = notice
    if text:
        reply["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    return reply or None


_ANSWERED = frozenset({"SessionStart", "UserPromptSubmit"})
_SILENT = frozenset({"PostToolUse", "SubagentStart", "SessionEnd"})
OTHER = Harness("other", utf16_units, UNITS_PRELOAD, UNITS_PART, utf16_units)
ROWS: Mapping[str, Harness] = {
    "claude": Harness(
        "claude", utf16_units, UNITS_PRELOAD, UNITS_PART, utf16_units, _ANSWERED, _SILENT | {"PreToolUse"}, _context
    ),
    "codex": Harness("codex", utf8_bytes, BYTES_PRELOAD, CODEX_PART_BYTES, json_bytes, _ANSWERED, _SILENT, _context),
    "antigravity": Harness("antigravity", utf8_bytes, BYTES_PRELOAD_ANTIGRAVITY, INLINE_PART_BYTES, utf8_bytes),
    "desktop": Harness("desktop", utf16_units, UNITS_PRELOAD, UNITS_PART, utf16_units),
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


def hook_payload(row: Harness, event: str, document: object) -> HookPayload | None:
    """Read a hook's stdin tolerantly; None when it is no payload or names an event that kg does not answer.

    Args:
        row: the client.
        event: the event of the URL, which counts where the body has no name of its own.
        document: the parsed stdin.
    """
    if not isinstance(document, dict):
        return None
    named = _text(document.get("hook_event_name")) or event
    if named not in row.events:
        return None
    return HookPayload(
        event=named,
        client_id=_text(document.get("session_id")) or None,
        cwd=_text(document.get("cwd")) or None,
        source=_text(document.get("source")) or "unknown",
        prompt=_text(document.get("prompt")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
