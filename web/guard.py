"""Who may ask: the checks that every request passes before anything of it is read.

On the Unix socket the file's permissions are the check. On TCP a request must name this host and port, come from no
foreign page, and present the token; GET /health without it answers the status and nothing else. Nothing of a request
that is refused is read or changed.

Falcon waits for the first piece of a body before it runs any middleware, so a client that sends a head alone would be
neither refused nor timed. `Gate` stands before Falcon and lets it begin with the head. It also counts the requests
under way, since only there a call that is cancelled is certain to be counted out.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import falcon
import falcon.asgi

from kg.limits import BODY_BYTES, BODY_WAIT_S, REQUESTS_UNDER_WAY
from web.exchange import is_local
from web.problems import too_large, too_slow

HOSTS = ("localhost", "127.0.0.1", "[::1]")
FOREIGN_FETCHES = frozenset({"cross-site", "same-site"})
UNDER_WAY = "kg.under_way"  # key of the scope: how many requests are under way, this one included

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]


class Gate:
    """The ASGI application: Falcon's, behind a count and without its wait for the body."""

    def __init__(self, app: Asgi) -> None:
        self._app = app
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass on whatever else there is."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._under_way += 1
        scope[UNDER_WAY] = self._under_way
        try:
            await self._app(scope, _head_first(receive), send)
        finally:
            self._under_way -= 1


def _head_first(receive: Receive) -> Receive:
    """Begin with an empty piece of body that is there at once; what really arrives comes after it."""
    begun = False

    async def next_event() -> dict[str, Any]:
        nonlocal begun
        if begun:
            return await receive()
        begun = True
        return {"type": "http.request", "body": b"", "more_body": True}

    return next_event


class Guard:
    """Middleware. `token` is what TCP clients present; `port` gives the TCP port once it is known."""

    def __init__(self, *, token: str, port: Callable[[], int | None]) -> None:
        self._token = f"Bearer {token}".encode()
        self._port = port

    async def process_request(self, request: falcon.asgi.Request, _response: falcon.asgi.Response) -> None:
        """Refuse whoever may not ask."""
        if request.scope[UNDER_WAY] > REQUESTS_UNDER_WAY:
            raise falcon.HTTPTooManyRequests(description="Too many requests at once; try again.", retry_after=1)
        local = is_local(request)
        request.context.trusted = local
        if not local:
            self._check_origin(request)
            self._check_token(request)

    def _check_origin(self, request: falcon.asgi.Request) -> None:
        port = self._port()
        names = {f"{host}:{port}" for host in HOSTS}
        hosts = [value.decode("latin-1").lower() for key, value in request.scope["headers"] if key == b"host"]
        if len(hosts) != 1 or hosts[0] not in names:  # Falcon would show the last of two
            raise falcon.HTTPError(
                "421 Misdirected Request", description="This is kg on the loopback; ask it by that name."
            )
        origin = request.get_header("Origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in names}:
            raise falcon.HTTPForbidden(description="Pages of other origins may not talk to kg.")
        if (request.get_header("Sec-Fetch-Site") or "").lower() in FOREIGN_FETCHES:
            raise falcon.HTTPForbidden(description="Pages of other sites may not talk to kg.")

    def _check_token(self, request: falcon.asgi.Request) -> None:
        given = (request.get_header("Authorization") or "").encode("utf-8", "surrogateescape")
        request.context.trusted = hmac.compare_digest(given, self._token)
        if not request.context.trusted and not (request.method == "GET" and request.path == "/health"):
            raise falcon.HTTPUnauthorized(description="Present the token of run/token as Authorization: Bearer.")


async def body_of(request: falcon.asgi.Request) -> bytes:
    """The body: declared as JSON, there in time, and no larger than the limit, whatever its header said."""
    kind = (request.content_type or "").partition(";")[0].strip().lower()
    if kind != falcon.MEDIA_JSON:
        raise falcon.HTTPUnsupportedMediaType(description="kg takes Content-Type: application/json.")
    if (request.content_length or 0) > BODY_BYTES:
        raise too_large()
    try:
        async with asyncio.timeout(BODY_WAIT_S):
            data: bytes = await request.stream.read(BODY_BYTES + 1)
    except TimeoutError:
        raise too_slow() from None
    if len(data) > BODY_BYTES:
        raise too_large()
    return data
