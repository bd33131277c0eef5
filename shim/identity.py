"""Who is calling: the headers by which the service binds a call to a client and its conversation.

Each client tells it in another place. Claude Code puts the tool use into `_meta`, and its conversation into the
environment, where it goes stale after /clear: the service takes the tool use first. Codex puts session and thread into
`_meta`; the thread is a subagent's own and equals the session elsewhere, so the thread is what is sent. Antigravity
puts its conversation into `_meta`.

A value that is longer than a header should be is left out, since a cut id would be somebody else's. Everything but
visible ASCII, and the percent sign, is percent-encoded.
"""

from kg.limits import IDENTITY_CHARS
from kg.rpc import INITIALIZE, META_CLIENT_INFO
from shim.message import Message, table
from shim.scan import Number

CLIENT_NAMES = (  # start of clientInfo.name in lower case -> harness; the first that fits
    ("claude-code", "claude"),
    ("claude code", "claude"),
    ("claude-ai", "desktop"),
    ("claude-desktop", "desktop"),
    ("claude desktop", "desktop"),
    ("codex", "codex"),
    ("antigravity", "antigravity"),
)
OTHER = "other"
META_SESSIONS = ("threadId", "sessionId", "antigravity.google/conversation_id")  # the first that is there
META_TOOL_USE = "claudecode/toolUseId"
FIRST_VISIBLE = 0x21
LAST_VISIBLE = 0x7E


class Identity:
    """What is known about the client of this shim; `harness` is empty until the client has named itself."""

    def __init__(self, environ: dict[bytes, bytes]) -> None:
        """Take what the environment tells."""
        self.harness = ""
        self._claude_session = _decoded(environ.get(b"CLAUDE_CODE_SESSION_ID"))
        self._project_root = _decoded(environ.get(b"KG_PROJECT_ROOT"))

    def headers_for(self, message: Message) -> list[tuple[str, str]]:
        """Return the identity headers of one message, and learn the client's name from it."""
        info = table(message.meta.get(META_CLIENT_INFO))
        if not info and message.method == INITIALIZE:
            info = table(message.params.get("clientInfo"))
        if name := _text(info.get("name")):
            self.harness = harness_of(name)
        session = next(filter(None, (_text(message.meta.get(name)) for name in META_SESSIONS)), "")
        if not session and self.harness == "claude":
            session = self._claude_session
        values = (
            ("Kg-Harness", self.harness),
            ("Kg-Client-Session", session),
            ("Kg-Tool-Use", _text(message.meta.get(META_TOOL_USE))),
            ("Kg-Project-Root", self._project_root),
        )
        return [(name, safe_value(value)) for name, value in values if value and len(value) <= IDENTITY_CHARS]


def harness_of(client_name: str) -> str:
    """Return the harness behind a clientInfo name."""
    lower = client_name.lower()
    return next((harness for start, harness in CLIENT_NAMES if lower.startswith(start)), OTHER)


def safe_value(text: str) -> str:
    """Return `text` as a header value that no client can break out of."""
    raw = text.encode("utf-8", "surrogateescape" if _only_escapes(text) else "replace")
    return "".join(chr(b) if FIRST_VISIBLE <= b <= LAST_VISIBLE and b != ord("%") else f"%{b:02X}" for b in raw)


def _only_escapes(text: str) -> bool:
    # surrogateescape covers bytes of the environment; any other surrogate came as a JSON escape.
    return not any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in text)


def _decoded(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "surrogateescape")


def _text(value: object) -> str:
    return value if isinstance(value, str) and not isinstance(value, Number) else ""
