"""MCP over HTTP: one message in, one message out, each by itself.

`POST /mcp` is the public door; `POST /rpc` is the shim's, on the Unix socket only, where the headers that HTTP clients
must send do not exist. There are no sessions of the protocol and no streams, so a restart of the service disconnects
nobody. Everything that a model can put right is a tool result with isError; only faults of the protocol are JSON-RPC
errors.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import falcon
import falcon.asgi
import orjson

from kg import rpc, schema
from kg.commands import Answer, Caller
from kg.errors import refuse
from kg.limits import TOOLS_TTL_MS
from kg.ports import Memory
from web import doctrine
from web.envelope import HEADER_VERSION, Message, check_modern, id_of, message_of, parse
from web.exchange import acknowledged, caller_of, hand_over, identity, is_local
from web.guard import body_of
from web.metrics import Metrics
from web.problems import RpcFault
from web.tools import Tool

Result = dict[str, Any]
ONLY_POST = ("POST",)


class Mcp:
    """The endpoint.

    Args:
        memory: gives the owner of the state.
        tools: the rows that are listed, in order.
        version: of kg.
        metrics: counts the calls.
        shim: this is the shim's door.
    """

    def __init__(
        self,
        memory: Callable[[], Memory],
        *,
        tools: Sequence[Tool],
        version: str,
        metrics: Metrics,
        shim: bool,
    ) -> None:
        self._memory = memory
        self._tools = {tool.name: tool for tool in tools}
        self._listed = [tool.published() for tool in tools]
        self._server = {"name": "kg", "title": "kg memory", "version": version}
        self._metrics = metrics
        self._shim = shim
        self._methods: Mapping[str, Callable[[Message], Result]] = {
            "tools/list": self._list,
            rpc.DISCOVER: self._discover,
            rpc.INITIALIZE: self._initialize,
            "ping": self._ping,
        }

    async def on_get(self, _request: falcon.asgi.Request, _response: falcon.asgi.Response) -> None:
        """There is no event stream."""
        raise falcon.HTTPMethodNotAllowed(ONLY_POST, description="kg answers POST only.")

    on_put = on_delete = on_patch = on_head = on_get

    async def on_post(self, request: falcon.asgi.Request, response: falcon.asgi.Response) -> None:
        """Answer one message."""
        if self._shim and not is_local(request):
            raise falcon.HTTPNotFound(description="This door is on the Unix socket; use /mcp.")
        data = await body_of(request)
        memory = self._memory()
        if arrived := acknowledged(request):
            await memory.acknowledge(arrived)
        response.content_type = falcon.MEDIA_JSON
        document: object = None
        try:
            document = parse(data)
            request.context.rpc_id = id_of(document)
            version = None if self._shim else request.get_header(HEADER_VERSION)
            message = message_of(document, version)
            if message is None:
                response.status = falcon.HTTP_202
                response.content_type = None
                return
            result = await self._answer(message, request, response)
            response.data = orjson.dumps({"jsonrpc": rpc.JSONRPC, "id": message.id, "result": result})
        except RpcFault as error:
            response.status = error.status
            response.data = error.body(id_of(document))

    async def _answer(self, message: Message, request: falcon.asgi.Request, response: falcon.asgi.Response) -> Result:
        if message.modern:
            check_modern(message, request, headers_too=not self._shim)
        if message.method == rpc.TOOLS_CALL:
            result = await self._call(message, request, response)
        else:
            method = self._methods.get(message.method)
            only_legacy = message.method in {rpc.INITIALIZE, "ping"}
            only_modern = message.method == rpc.DISCOVER
            if method is None or (only_legacy if message.modern else only_modern):
                status = falcon.HTTP_404 if message.modern else falcon.HTTP_200
                raise RpcFault(rpc.METHOD_NOT_FOUND, f"kg has no method {message.method[:80]!r}.", status=status)
            result = method(message)
        if message.modern:
            result = {"resultType": "complete", **result}
            result["_meta"] = {**result.get("_meta", {}), rpc.META_SERVER_INFO: self._server}
        return result

    # --- methods ---------------------------------------------------------------------------------------------

    def _initialize(self, message: Message) -> Result:
        asked = message.params.get("protocolVersion")
        version = asked if asked in rpc.LEGACY_VERSIONS else rpc.LATEST_LEGACY_VERSION
        return {"protocolVersion": version, **self._introduction(), "serverInfo": self._server}

    def _introduction(self) -> Result:
        return {"capabilities": {"tools": {"listChanged": False}}, "instructions": doctrine.INSTRUCTIONS}

    def _discover(self, _message: Message) -> Result:
        served = {"supportedVersions": list(rpc.MODERN_VERSIONS), "serverInfo": self._server}
        return {**served, **self._introduction(), "ttlMs": TOOLS_TTL_MS, "cacheScope": "private"}

    def _ping(self, _message: Message) -> Result:
        return {}

    def _list(self, message: Message) -> Result:
        cache = {"ttlMs": TOOLS_TTL_MS, "cacheScope": "private"} if message.modern else {}
        return {"tools": self._listed, **cache}

    # --- tools/call ------------------------------------------------------------------------------------------

    async def _call(self, message: Message, request: falcon.asgi.Request, response: falcon.asgi.Response) -> Result:
        name = message.params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcFault(rpc.INVALID_PARAMS, f"kg has no tool {str(name)[:80]!r}; tools/list names them.")
        arguments = message.params.get("arguments", {})
        if tool.answer is not None:
            return dict(tool.answer(message.params))
        caller = caller_of(request)
        with self._metrics.timed("mcp", tool.name) as outcome:
            answer = await self._run(tool, arguments, request, caller)
            outcome.code = answer.code or "ok"
        hand_over(self._memory(), answer.delivery, caller, response)
        result: Result = {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
        if answer.code is not None:
            result["_meta"] = {"kg/code": answer.code}
        return result

    async def _run(
        self,
        tool: Tool,
        arguments: Any,  # noqa: ANN401 - not checked yet
        request: falcon.asgi.Request,
        caller: Caller,
    ) -> Answer:
        faults = schema.check(tool.schema, arguments)
        if faults or tool.decode is None:
            refusal = refuse("bad-arguments", " ".join(faults))
            return Answer(refusal.text, is_error=True, code=refusal.code)
        memory = self._memory()
        place = None
        if "cwd" in arguments:
            place = await memory.locate(arguments["cwd"], identity(request, "Kg-Project-Root"))
        return await memory.execute(tool.decode(arguments, place), caller)
