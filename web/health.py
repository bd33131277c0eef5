"""GET /health and POST /deliveries/ack."""

from collections.abc import Callable

import falcon
import falcon.asgi
import orjson

from kg.limits import ACKS_MOST
from kg.ports import Memory
from web.guard import body_of
from web.payload import parsed


class Health:
    """The state of the service; only its status for a caller without the token."""

    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    async def on_get(self, request: falcon.asgi.Request, response: falcon.asgi.Response) -> None:
        """The report."""
        report = self._memory().health()
        response.content_type = falcon.MEDIA_JSON
        response.data = orjson.dumps(report if request.context.trusted else {"status": report["status"]})


class Acknowledgements:
    """Where shim and hook say which replies have arrived."""

    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    async def on_post(self, request: falcon.asgi.Request, response: falcon.asgi.Response) -> None:
        """Let the effects of these deliveries hold."""
        try:
            document = parsed(await body_of(request))
        except ValueError:
            document = None
        ids = document.get("ids") if isinstance(document, dict) else None
        if not isinstance(ids, list) or len(ids) > ACKS_MOST or not all(isinstance(item, str) for item in ids):
            raise falcon.HTTPBadRequest(description=f'Send {{"ids": ["..."]}} with at most {ACKS_MOST} ids.')
        response.content_type = falcon.MEDIA_JSON
        response.data = orjson.dumps({"acknowledged": await self._memory().acknowledge(ids)})
