"""The application: which door is where."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import falcon
import falcon.asgi

from kg.ports import Memory
from web import problems
from web.exchange import REPLY_VERSION
from web.explain import Explanations
from web.guard import Gate, Guard
from web.health import Acknowledgements, Health
from web.hooks import Hooks
from web.mcp import Mcp
from web.metrics import Metrics
from web.tools import TOOLS, Tool


class Lifespan:
    """Middleware that starts and stops what stands behind the doors, and says which version answers."""

    def __init__(
        self, *, startup: Callable[[], Awaitable[None]], shutdown: Callable[[], Awaitable[None]], version: str
    ) -> None:
        self._startup = startup
        self._shutdown = shutdown
        self._version = version

    async def process_startup(self, _scope: dict[str, Any], _event: dict[str, Any]) -> None:
        """Before the first request."""
        await self._startup()

    async def process_shutdown(self, _scope: dict[str, Any], _event: dict[str, Any]) -> None:
        """After the last."""
        await self._shutdown()

    async def process_response(
        self,
        _request: falcon.asgi.Request,
        response: falcon.asgi.Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001
    ) -> None:
        """Name the version in each reply."""
        response.set_header(REPLY_VERSION, self._version)


def create_app(
    memory: Callable[[], Memory],
    *,
    token: str,
    port: Callable[[], int | None],
    version: str,
    startup: Callable[[], Awaitable[None]],
    shutdown: Callable[[], Awaitable[None]],
    extra_tools: Sequence[Tool] = (),
) -> Gate:
    """Put the ASGI application together.

    Args:
        memory: gives the owner of the state once `startup` has run.
        token: what TCP clients present.
        port: gives the TCP port, for the checks of Host and Origin.
        version: of kg.
        startup: runs before the first request; what it raises stops the service.
        shutdown: runs after the last one.
        extra_tools: further rows, for test builds.
    """
    metrics = Metrics()
    lifespan = Lifespan(startup=startup, shutdown=shutdown, version=version)
    middleware: Any = [lifespan, Guard(token=token, port=port)]  # falcon's own type of it has no name
    app = falcon.asgi.App(middleware=middleware)
    app.set_error_serializer(problems.serialize)
    app.add_error_handler(Exception, problems.fault)
    tools = (*TOOLS, *extra_tools)
    app.add_route("/mcp", Mcp(memory, tools=tools, version=version, metrics=metrics, shim=False))
    app.add_route("/rpc", Mcp(memory, tools=tools, version=version, metrics=metrics, shim=True))
    app.add_route("/hooks/{harness}/{event}", Hooks(memory, metrics=metrics))
    app.add_route("/deliveries/ack", Acknowledgements(memory))
    app.add_route("/health", Health(memory))
    app.add_route("/explain", Explanations(memory))
    app.add_route("/metrics", metrics)
    return Gate(app)
