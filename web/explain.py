"""GET /explain?graph=KEY&id=ID: why a node is in view or not."""

from collections.abc import Callable

import falcon
import falcon.asgi
import orjson

from kg.ports import Memory


class Explanations:
    """The score of a node, in parts. Reading it promotes nothing."""

    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    async def on_get(self, request: falcon.asgi.Request, response: falcon.asgi.Response) -> None:
        """The explanation of one node."""
        key = request.get_param("graph", default="user")
        node_id = request.get_param("id", required=True)
        found = await self._memory().explain(key, node_id)
        if found is None:
            raise falcon.HTTPNotFound(description=f"The graph {key[:80]!r} has no node {node_id[:128]!r}.")
        response.content_type = falcon.MEDIA_JSON
        response.data = orjson.dumps(found)
