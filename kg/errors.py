"""Every way in which kg says no.

A `Refusal` is an answer: the caller can put it right, so its text is one paragraph with a marker, what is wrong, and
what to do. Its code is what programs and tests compare; the sentences may change. `CODES` holds the marker and the
usual way out of every code; `refuse` puts the paragraph together.

The other types are for the shell: the core finds that a file, a journal or an append is bad, and the shell decides
whether that stops the service, one graph or one reply. Their message is complete, so whoever catches one can print it.
"""

from dataclasses import dataclass
from typing import Literal

Marker = Literal["Error", "NOT WRITTEN", "NOT RENAMED", "NOT DELETED"]


@dataclass(frozen=True, slots=True)
class Code:
    """How refusals of one code begin and end.

    Attributes:
        marker: the first words of the text, with colon and blank.
        way_out: one sentence that says what to do.
    """

    marker: str
    way_out: str


def _error(code: str, way_out: str) -> tuple[str, Code]:
    return code, Code(f"Error ({code}): ", way_out)


def _guard(code: str, marker: Marker, way_out: str) -> tuple[str, Code]:
    return code, Code(f"{marker} ({code}): ", way_out)


_MERGE = "Merge what is shown here with your text and send the call again."

CODES: dict[str, Code] = dict(
    (
        _error("bad-arguments", "Correct the named fields and send the call again."),
        _error("unknown-session", "Call kg_read(cwd=<the folder you work in>) and use the session_id of its reply."),
        _error("no-project", "Call kg_read(session_id=<yours>, cwd=<project folder>) to attach a project, then retry."),
        _error("foreign-session", "Use the session_id that kg gave this conversation, or call kg_read(cwd=...)."),
        _error("bad-id", "Choose an id of three to five words joined by hyphens."),
        _error("bad-rel", "Choose a short verb such as requires, documented-in or instance-of."),
        _error("bad-endpoint", "Give the id of a node, or a file with a slash in its path (./name for a bare file)."),
        _guard("long-id", "NOT WRITTEN", "Let the id name the subject in 3-5 words and the gist make the claim."),
        ("not-found", Code("NOT FOUND: ", "Use kg_search to find nodes by their words.")),
        _guard("stale-view", "NOT WRITTEN", _MERGE),
        _guard("partial-view", "NOT WRITTEN", _MERGE),
        _guard("unseen-edge", "NOT WRITTEN", _MERGE),
        _guard("unseen-node", "NOT DELETED", "Read what is shown here; if it may really go, send the same call again."),
        _guard("locked", "NOT WRITTEN", "A person locked this node: leave it as it is and tell the person."),
        _guard("held", "NOT RENAMED", "Another live session works with this node: leave it for a later run."),
        _guard("churning", "NOT WRITTEN", "This node was rewritten too often lately: leave it for a person to settle."),
        _error("same-id", "Give a new_id that differs from old_id."),
        _guard("id-taken", "NOT RENAMED", "Choose another id, or merge the two nodes by hand."),
        _guard("edge-captured", "NOT RENAMED", "Choose an id that no edge would resolve to by accident."),
        _error("unreadable-graph", "Tell the person to run kg status, which names the file to repair; then retry."),
        _error("not-allowed", "Leave this step to a person or to a session with the right to do it."),
        _error("no-hooks", "Tell the person to run kg setup, so that kg's hooks are installed, and to start anew."),
        _error("queue-full", "Let the queued text arrive first: go on with your work and ask again after a step."),
        ("not-saved", Code("NOT SAVED: ", "kg retries every second, so do not resend; the person can run kg status.")),
        _error("internal", "The fault was logged; go on without this call and tell the person to look at kg status."),
    )
)


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault
    """kg will not do this, and says why and what to do instead.

    Attributes:
        code: key of CODES.
        text: the whole result text, marker included.
        shown: the stored thing that the reply shows below the text, None when it shows none.
    """

    def __init__(self, code: str, text: str, *, shown: object | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.shown = shown


def refuse(
    code: str, what: str, way_out: str | None = None, *, marker: Marker | None = None, shown: object | None = None
) -> Refusal:
    """Make the refusal of this code: marker, what is wrong, what to do, as one paragraph.

    Args:
        code: key of CODES; another one is a KeyError.
        what: what is wrong, as a sentence; a missing full stop is added. Text of users in it must be `shown` already.
        way_out: replaces the code's usual sentence.
        marker: replaces the marker's words where one code guards several tools (locked, held, edge-captured).
        shown: see Refusal.
    """
    row = CODES[code]
    start = row.marker if marker is None else f"{marker} ({code}): "
    return Refusal(code, start + _sentence(what) + " " + _sentence(way_out or row.way_out), shown=shown)


def _sentence(text: str) -> str:
    """One line that ends like a sentence."""
    line = " ".join(part.strip() for part in text.splitlines()).strip()
    return line if line.endswith((".", "!", "?", "…")) else line + "."


class StorageUnreadable(Exception):  # noqa: N818 - named for what the storage is
    """A file that kg cannot start without can be read neither itself nor as its previous copy."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(
            f"{path} cannot be read: {cause}. Repair it, or put a good copy in its place, or run kg doctor --repair."
        )
        self.path = path
        self.cause = cause


class JournalDamaged(Exception):  # noqa: N818
    """A journal line, other than a torn last one, that cannot be read or does not follow its predecessor."""

    def __init__(self, path: str, line: int, cause: str) -> None:
        super().__init__(
            f"{path} line {line} is damaged: {cause}. "
            "Nothing was changed; kg doctor --repair lists the ways out and what each would lose."
        )
        self.path = path
        self.line = line
        self.cause = cause


class DocumentInvalid(Exception):  # noqa: N818
    """A graph file, session file or other document breaks a rule. `line` and `key` say where, as far as known."""

    def __init__(self, line: int | None, key: str | None, cause: str) -> None:
        where = ", ".join(
            part
            for part in (f"line {line}" if line is not None else "", f"key {key}" if key is not None else "")
            if part
        )
        super().__init__(
            f"{where + ': ' if where else ''}{cause}. Correct it there; kg leaves the file alone until it is readable."
        )
        self.line = line
        self.key = key
        self.cause = cause


class NotSaved(Exception):  # noqa: N818
    """Events were applied in memory and could not be made durable; they are kept and retried."""

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"{cause}. The change is kept in memory and retried every second; kg status says when it is on disk."
        )
        self.cause = cause
