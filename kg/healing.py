"""A tool call that leaked into a gist, taken apart again.

Now and then a client writes the rest of its call into the first argument: the gist ends with a closing tag, and notes
and touches follow as parameter tags. The traces are structure that no sentence has by accident; talk about notes, tags
or tool calls is never touched. The gist ends before the first trace, and lists that the caller left empty are filled
from the arrays behind their openers.

Healing works on the gist as the door leaves it (`text.tidy_line`), so that cleaning a healed gist cannot bring a trace
to light, and healing twice changes nothing more. Every pattern is bounded and every array is tried a few times at most:
the work is linear in the text whatever it holds.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kg.limits import HEAL_ATTEMPTS, HEAL_ATTRIBUTE_CHARS, HEAL_GAP_CHARS, HEAL_GIST_MAX_CHARS
from kg.text import tidy_line

_GAP = f"\\s{{0,{HEAL_GAP_CHARS}}}"
_SPACE = "(?:[A-Za-z]{1,16}:)?"  # a namespace before the name of a tag
_ATTRIBUTES = f"[^<>]{{0,{HEAL_ATTRIBUTE_CHARS}}}"


def _parameter(names: str) -> str:
    return f"<{_SPACE}parameter\\s{_ATTRIBUTES}?(?<![\\w-])name{_GAP}={_GAP}[\"'](?:{names})[\"']{_ATTRIBUTES}>"


def _list_opener(name: str) -> re.Pattern[str]:
    return re.compile(f"(?:{_parameter(name)}|<{_SPACE}{name}{_GAP}>){_GAP}(?=\\[)")


_TRACE = re.compile(
    f"</{_SPACE}gist{_GAP}>"
    f"|</{_SPACE}invoke{_GAP}>"
    f"|<{_SPACE}invoke\\s{_ATTRIBUTES}?(?<![\\w-])name{_GAP}="
    f"|{_parameter('notes|touches|session_id')}"
    f"|<{_SPACE}notes{_GAP}>{_GAP}\\["
)
_NOTES = _list_opener("notes")
_TOUCHES = _list_opener("touches")
_GIST = re.compile(f"(?:{_parameter('gist')}|<{_SPACE}gist{_GAP}>)([^<]{{1,{HEAL_GIST_MAX_CHARS}}})")


@dataclass(frozen=True, slots=True)
class Healed:
    """A node's texts after healing.

    Attributes:
        gist: tidied to one line when something leaked, else as it came; empty when nothing stood before the leak.
        notes: as given, or what was recovered; None when not given and not recovered.
        touches: the same.
        recovered: what came out of the leak, in the order gist (it was cut), notes, touches; empty: nothing leaked.
    """

    gist: str
    notes: tuple[str, ...] | None
    touches: tuple[str, ...] | None
    recovered: tuple[str, ...]


def heal(gist: str, notes: Sequence[str] | None, touches: Sequence[str] | None) -> Healed:
    """Cut a leaked call off the gist and fill the lists that the caller left out or empty."""
    kept_notes = None if notes is None else tuple(notes)
    kept_touches = None if touches is None else tuple(touches)
    line = tidy_line(gist) if "<" in gist else gist
    trace = _TRACE.search(line) if "<" in line else None
    if trace is None:
        return Healed(gist, kept_notes, kept_touches, ())
    leak = line[trace.start() :]
    claim = line[: trace.start()].rstrip() or _leaked_gist(leak)
    found_notes = () if notes else _leaked_list(_NOTES, leak)
    found_touches = () if touches else _leaked_list(_TOUCHES, leak)
    recovered = ("gist", *(("notes",) if found_notes else ()), *(("touches",) if found_touches else ()))
    return Healed(claim, found_notes or kept_notes, found_touches or kept_touches, recovered)


def _leaked_gist(leak: str) -> str:
    """The gist of a call that leaked from its very start."""
    found = _GIST.search(leak)
    return found.group(1).strip() if found else ""


def _leaked_list(opener: re.Pattern[str], leak: str) -> tuple[str, ...]:
    """The texts of the first whole array behind an opener."""
    decoder = json.JSONDecoder(strict=False)
    for attempt, found in enumerate(opener.finditer(leak)):
        if attempt == HEAL_ATTEMPTS:
            break
        try:
            array, _ = decoder.raw_decode(leak, found.end())
        except (ValueError, RecursionError):
            continue
        return tuple(item for item in array if isinstance(item, str) and item)
    return ()
