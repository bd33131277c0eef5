"""Commands: what a caller wants, as values.

`web` decodes a tool call, a hook or a REST request into one of these; `decide` answers it. A command holds arguments
that passed their JSON schema and nothing that has to be looked up: ids are as the caller wrote them, `level` is None
where the caller left the look-up order to kg.

`Place` is what the shell found out about a working folder (spec/storage.md section 11); the core never touches a disk.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Level = Literal["user", "project", "maintain"]
LEVELS: tuple[Level, ...] = ("user", "project", "maintain")


@dataclass(frozen=True, slots=True)
class Place:
    """A working folder, resolved.

    Attributes:
        root: absolute path of the project root, None when the folder means "no project" (home, /, the storage folder).
        first_commit: smallest id of the root commits of its git repository, None without one.
        note: one sentence for the caller when the folder could not be used as given, else None.
        moved_slug: slug of the project that lay elsewhere before and whose graph this root takes over.
    """

    root: str | None
    first_commit: str | None = None
    note: str | None = None
    moved_slug: str | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """kg_read. `place` stands for the cwd argument and is None when none was given."""

    session_id: str | None = None
    place: Place | None = None
    ids: tuple[str, ...] = ()
    level: Level | None = None
    maintenance: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """kg_search."""

    query: str
    session_id: str | None = None
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class PutNode:
    """kg_put_node. `notes` and `touches` are None when the caller left them out."""

    session_id: str
    level: Level
    id: str
    gist: str
    notes: tuple[str, ...] | None = None
    touches: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PutEdge:
    """kg_put_edge. `source` and `target` are the arguments from and to."""

    session_id: str
    level: Level
    source: str
    target: str
    rel: str
    notes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RenameNode:
    """kg_rename_node."""

    session_id: str
    old_id: str
    new_id: str
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class DeleteNode:
    """kg_delete_node."""

    session_id: str
    id: str
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class DeleteEdge:
    """kg_delete_edge."""

    session_id: str
    source: str
    target: str
    rel: str
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Useful:
    """kg_useful. `credits` is None when the caller left it out."""

    session_id: str
    ids: tuple[str, ...]
    credits: int | None = None
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Sync:
    """kg_sync."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Progress:
    """kg_progress. `state` is None when the stored state is asked for."""

    session_id: str
    task_id: str
    state: Mapping[str, object] | None = None
    level: Level = "user"


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A client's conversation began, went on or was compacted (SessionStart hook).

    `source` is the client's word: startup, resume, clear, compact, fork or anything new. `transcript_session` is the
    last session id that kg's own text in the transcript names, None when there is none or nobody looked.
    """

    source: str
    place: Place | None
    transcript_session: str | None = None


@dataclass(frozen=True, slots=True)
class PromptSubmitted:
    """A person sent a prompt (UserPromptSubmit hook); `transcript_session` as in SessionStarted."""

    prompt: str
    place: Place | None
    transcript_session: str | None = None


Command = (
    Read
    | Search
    | PutNode
    | PutEdge
    | RenameNode
    | DeleteNode
    | DeleteEdge
    | Useful
    | Sync
    | Progress
    | SessionStarted
    | PromptSubmitted
)

Channel = Literal["shim", "hook", "http", "cli"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and how it will tell that the answer arrived (spec/sessions.md sections 3 and 5).

    Attributes:
        channel: the door the request came through.
        harness: claude, codex, antigravity, desktop or other.
        client_id: the client's own conversation id, None when unknown.
        tool_use: the client's id of this tool call, None when unknown.
        acknowledges: it will acknowledge the delivery; else its effects hold when the reply has been handed over.
        request_key: idempotency key of this call, None when there is none.
        deadline_s: how long the sender waits from now on, in seconds, None when it did not say.
    """

    channel: Channel = "http"
    harness: str = "other"
    client_id: str | None = None
    tool_use: str | None = None
    acknowledges: bool = False
    request_key: str | None = None
    deadline_s: float | None = None


NOBODY = Caller()


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back to the caller.

    Attributes:
        text: the reply; for a hook the text for the model's context ("" = silence).
        is_error: the call was refused or failed.
        code: the refusal's code (spec/tools.md section 14), None for a success.
        delivery: id to acknowledge, None when the reply has no effects.
        notice: one line for the person at the screen (hooks only), None for none.
    """

    text: str
    is_error: bool = False
    code: str | None = None
    delivery: str | None = None
    notice: str | None = None
