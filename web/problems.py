"""The one place where errors become answers: HTTP errors as one JSON sentence, faults as "it was logged".

A client never sees a stack trace; the log has it. JSON-RPC errors are made here too, so that their form is one.
"""

import logging
from typing import Any

import falcon
import falcon.asgi
import orjson

from kg import rpc
from kg.limits import BODY_BYTES

log = logging.getLogger("kg.web")

LOGGED = "kg failed on this request; the fault was logged. kg status names the log."


class RpcFault(Exception):  # noqa: N818 - an answer of the protocol
    """A JSON-RPC error. `status` is the HTTP status that goes with it."""

    def __init__(self, code: int, message: str, *, status: str = falcon.HTTP_200, data: Any = None) -> None:  # noqa: ANN401
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data

    def body(self, request_id: object) -> bytes:
        """The error response for this request id."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return orjson.dumps({"jsonrpc": rpc.JSONRPC, "id": request_id, "error": error})


def serialize(_request: falcon.asgi.Request, response: falcon.asgi.Response, error: falcon.HTTPError) -> None:
    """Falcon's HTTP errors as one JSON sentence."""
    response.content_type = falcon.MEDIA_JSON
    response.data = orjson.dumps({"error": error.description or error.title or error.status})


async def fault(
    request: falcon.asgi.Request, response: falcon.asgi.Response | None, error: Exception, _params: dict[str, Any]
) -> None:
    """The last handler: what nobody expected."""
    log.error("%s %s failed", request.method, request.path, exc_info=error)
    if response is None:
        return
    response.content_type = falcon.MEDIA_JSON
    if hasattr(request.context, "rpc_id"):  # the message was understood: its sender waits for a JSON-RPC answer
        response.data = RpcFault(rpc.INTERNAL_ERROR, LOGGED).body(request.context.rpc_id)
        return
    response.status = falcon.HTTP_500
    response.data = orjson.dumps({"error": LOGGED})


def too_large() -> falcon.HTTPError:
    """A body over the limit."""
    return falcon.HTTPContentTooLarge(description=f"The body is larger than {BODY_BYTES} bytes; send less at once.")


def too_slow() -> falcon.HTTPError:
    """A body that does not arrive."""
    return falcon.HTTPError(falcon.HTTP_408, description="The body did not arrive in time; send it again.")
