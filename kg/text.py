"""Text at the door, on the scales and on display.

Stored text comes from models, web pages and hand edits. `clean_*` is the door: what passes it is storable, has no
control characters and no lone surrogates, and cleaning it again changes nothing. The lengths are those that clients
count in; each adds up over the pieces of a text and is at least 1 for each code point, which `longest_prefix` relies
on. `shown` is the one way for stored text into a line of kg: breaks become blanks, what nobody can see becomes visible,
and no tag of a client's framing survives. Plain text, nearly all there is, costs one regex search.

Everything here is linear in the text, for crafted text too.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Literal
from unicodedata import category, normalize

from kg.errors import refuse
from kg.graphemes import last_boundary
from kg.limits import (
    FILE_MAX_CHARS,
    FLAG_TAGS_MAX,
    FRAME_GAP_CHARS,
    NORMAL_BACK_CHARS,
    NORMAL_PIECE_CHARS,
    NOTES_MAX,
    TOUCHES_MAX,
)

FRAMES = (  # tags by which clients frame what they put into a model's context
    "system-reminder",
    "persisted-output",
    "hook_prompt",
    "local-command-stdout",
    "task-notification",
    "user-prompt-submit-hook",
    "USER_REQUEST",
)

_BREAK = "\t\n\x0b\x0c\r\x85\u2028\u2029"
_INVISIBLE = "\xad\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f"
_FLAG = f"\U0001f3f4[\U000e0030-\U000e007a]{{3,{FLAG_TAGS_MAX}}}\U000e007f"  # England, Scotland, Texas ...
_GAP = f"[\\s\u200c-\u200f\u061c\ufe00-\ufe0f]{{0,{FRAME_GAP_CHARS}}}"  # characters that hide a tag from a regex only

_BREAKS = re.compile(f"[{_BREAK}]+")
_LINE_END = re.compile(f"\r\n|[{_BREAK}]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SUSPECT = re.compile(f"[{_BREAK}{_INVISIBLE}\ud800-\udfff<]")
_DISGUISE = re.compile(
    f"(?P<flag>{_FLAG})"
    f"|(?P<breaks>[{_BREAK}]+)"
    f"|(?P<invisible>[{_INVISIBLE}])"
    "|(?P<surrogate>[\ud800-\udfff])"
    f"|(?P<frame><(?={_GAP}/?{_GAP}(?i:{'|'.join(FRAMES)})(?![\\w-])))"
)
_UNSEEN = re.compile(f"{_FLAG}|([{_INVISIBLE}])")


# --- the door ------------------------------------------------------------------------------------------------------


def tidy(text: str) -> str:
    """Without control characters other than breaks, lone surrogates replaced."""
    if _is_plain(text):
        return text
    return _CONTROLS.sub("", _SURROGATES.sub("\ufffd", text))


def whole_text(text: str) -> str:
    """Without lone surrogates, which no file can hold."""
    return _SURROGATES.sub("\ufffd", text)


def tidy_line(text: str) -> str:
    """As `tidy`; also each run of breaks is one blank, and the ends are cut."""
    return text.strip() if _is_plain(text) else one_line(tidy(text)).strip()


def _is_plain(text: str) -> bool:
    """Nearly all text: nothing in it has to be looked for."""
    return text.isascii() and text.isprintable()


def clean_gist(text: str) -> str:
    """The gist as it is stored: one line. A gist with nothing in it is a Refusal bad-arguments."""
    line = tidy_line(text)
    if not line:
        raise refuse(
            "bad-arguments", "gist is empty", "A gist is one claim in one line: write it and send the call again."
        )
    return line


def clean_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """The notes as they are stored, breaks kept, blank ones dropped. More than NOTES_MAX: Refusal bad-arguments."""
    kept = tuple(note for note in map(tidy, notes) if note and not note.isspace())
    if len(kept) > NOTES_MAX:
        raise refuse(
            "bad-arguments",
            f"notes has {len(kept)} entries; at most {NOTES_MAX} are allowed",
            "Join short notes, or split the node into several that link to each other.",
        )
    return kept


def clean_touches(touches: Iterable[str]) -> tuple[str, ...]:
    """The touches as they are stored, each one line, empty ones dropped.

    More than TOUCHES_MAX is a Refusal bad-arguments; one that is no possible file name a Refusal bad-endpoint.
    """
    kept = tuple(touch for touch in map(tidy_line, touches) if touch)
    if len(kept) > TOUCHES_MAX:
        raise refuse(
            "bad-arguments",
            f"touches has {len(kept)} entries; at most {TOUCHES_MAX} are allowed",
            "Name the folder instead of its files.",
        )
    for touch in kept:
        fault = file_fault(touch)
        if fault:
            raise refuse("bad-endpoint", f'the touch "{quoted(touch)}" {fault}', "Give the path of a file or folder.")
    return kept


def file_fault(text: str) -> str | None:
    """Why this is not the name of a file, as the end of a sentence; None when it may be one."""
    if not text:
        return "is empty"
    if len(text) > FILE_MAX_CHARS:
        return f"has {len(text)} characters, and a path may have {FILE_MAX_CHARS}"
    if _is_plain(text):
        return None
    if _BREAKS.search(text) or _CONTROLS.search(text):
        return "contains a control character or line break"
    if any(found.group(1) for found in _UNSEEN.finditer(text)):
        return "contains an invisible formatting character"
    return None


# --- display -------------------------------------------------------------------------------------------------------


def one_line(text: str) -> str:
    """Each run of breaks as one blank."""
    return _BREAKS.sub(" ", text)


def lines(text: str) -> list[str]:
    """The lines of a note: parts between breaks, CR LF being one."""
    return _LINE_END.split(text)


def shown(text: str) -> str:
    r"""Stored text as it may stand inside a line of kg.

    Runs of breaks are one blank, invisible characters are `\u{...}` in lower-case hex, the `<` of a frame's tag is `‹`.
    Showing it twice changes nothing more.
    """
    return _DISGUISE.sub(_made_visible, text) if _SUSPECT.search(text) else text


def _made_visible(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "breaks":
            return " "
        case "invisible":
            return f"\\u{{{ord(found.group()):x}}}"
        case "frame":
            return "‹"
        case "surrogate":
            return "\ufffd"
        case _:
            return found.group()


def quoted(text: str, limit: int = 80) -> str:
    """Foreign text for a sentence of kg: shown, without controls, cut to `limit` code points with an ellipsis."""
    head = shown(tidy(text[: limit + 1]))
    return longest_prefix(head, limit, len) + "…" if len(head) > limit else head


# --- lengths -------------------------------------------------------------------------------------------------------


def utf16_units(text: str) -> int:
    """Length in UTF-16 code units, what JavaScript counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Length in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def json_bytes(text: str) -> int:
    """Length in UTF-8 bytes of its JSON form with non-ASCII kept, without the two quotes around it."""
    return utf8_bytes(json.dumps(text, ensure_ascii=False)) - 2


def longest_prefix(text: str, limit: int, measure: Callable[[str], int]) -> str:
    """The longest beginning that measures at most `limit` and splits no grapheme cluster.

    A first cluster that is longer than the limit is cut at a code point. The result is empty only when not even one
    code point fits. `measure` must be additive and give at least 1 for each code point, as the lengths here do.
    """
    end, top, room = 0, max(0, min(len(text), limit)), limit
    while end < top:  # each step measures at most half of what the one before did: linear in the part looked at
        middle = (end + top + 1) // 2
        cost = measure(text[end:middle])
        if cost <= room:
            end, room = middle, room - cost
        else:
            top = middle - 1
    return text[: last_boundary(text, end) or end]


# --- normal forms --------------------------------------------------------------------------------------------------


def normal(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> str:
    """`unicodedata.normalize` in linear time.

    Sorting a run of marks costs its square, so the text goes through in pieces. Pieces end before a letter; only a run
    of more marks than any script has is cut inside, and stays unsorted there.
    """
    if text.isascii():
        return text
    if len(text) <= NORMAL_PIECE_CHARS:
        return normalize(form, text)
    pieces, start = [], 0
    while start < len(text):
        end = start + NORMAL_PIECE_CHARS
        for back in range(NORMAL_BACK_CHARS):
            if end - back >= len(text) or _starts_anew(text[end - back]):
                end -= back
                break
        pieces.append(normalize(form, text[start:end]))
        start = end
    return "".join(pieces)


def _starts_anew(char: str) -> bool:
    """Whether a normal form never joins this character to the one before it: no mark, no later part of a syllable."""
    return not (category(char).startswith("M") or "\u1160" <= char <= "\u11ff" or char in "\uff9e\uff9f")
