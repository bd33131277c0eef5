"""What a request says about its sender, and what the reply's headers say back.

Identity and acknowledgement headers are kg's own (`Kg-...`). Who a client is counts on the Unix socket only, where the
sender is this user's shim or hook; over TCP anybody with the token could claim to be anybody.
"""

from urllib.parse import unquote

import falcon.asgi

from kg.commands import Caller, Channel
from kg.limits import IDENTITY_CHARS
from kg.ports import Memory

REPLY_VERSION = "Kg-Version"
REPLY_DELIVERY = "Kg-Delivery"


def is_local(request: falcon.asgi.Request) -> bool:
    """Whether the request came through the Unix socket: only a TCP address has a port."""
    server = request.scope.get("server")
    return not (server and len(server) == 2 and isinstance(server[1], int))  # noqa: PLR2004 - host and port


def caller_of(request: falcon.asgi.Request, *, harness: str | None = None, client_id: str | None = None) -> Caller:
    """The sender of a request. A hook names its `harness` in the URL and its `client_id` in the body."""
    local = is_local(request)
    door: Channel = "shim" if local else "http"
    deadline = _number(request.get_header("Kg-Deadline-Ms"))
    return Caller(
        channel="hook" if harness else door,
        harness=harness or (local and identity(request, "Kg-Harness")) or "other",
        client_id=client_id or (identity(request, "Kg-Client-Session") if local else None),
        tool_use=identity(request, "Kg-Tool-Use") if local else None,
        acknowledges=request.get_header("Kg-Ack") == "1",
        request_key=identity(request, "Kg-Request"),
        deadline_s=deadline / 1000 if deadline is not None else None,
    )


def identity(request: falcon.asgi.Request, name: str) -> str | None:
    """A short value without control characters, percent-decoded; anything else counts as none."""
    value = request.get_header(name)
    return clean_identity(unquote(value) if "%" in value else value) if value else None


def clean_identity(value: str | None) -> str | None:
    """The value if it can name a client's conversation, else None."""
    if not value or len(value) > IDENTITY_CHARS or not value.isprintable():
        return None
    return value


def hand_over(memory: Memory, delivery: str | None, caller: Caller, response: falcon.asgi.Response) -> None:
    """Let the caller acknowledge what the reply implies; for one that will not, handing the reply over is enough."""
    if delivery is None:
        return
    if caller.acknowledges:
        response.set_header(REPLY_DELIVERY, delivery)
        return

    async def arrived() -> None:
        await memory.acknowledge([delivery])

    response.schedule(arrived)  # runs after the last piece went to the socket


def acknowledged(request: falcon.asgi.Request) -> list[str]:
    """Ids of deliveries whose arrival this request reports."""
    return [part.strip() for part in (request.get_header("Kg-Acked") or "").split(",") if part.strip()]


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < IDENTITY_CHARS else None
