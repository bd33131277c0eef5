"""POST /hooks/<harness>/<event>: a client's hook, its stdin as it came.

The answer is exactly what the hook prints, or nothing. A hook must never be in its client's way, so whatever cannot be
understood is answered with silence and counted.
"""

from collections.abc import Callable

import falcon
import falcon.asgi
import orjson

from kg.commands import Command, PromptSubmitted, SessionStarted
from kg.harness import HOOK_EVENTS, ROWS, HookPayload, hook_payload, hook_reply
from kg.ports import Memory
from web.exchange import REPLY_DELIVERY, caller_of, clean_identity, identity
from web.guard import body_of
from web.metrics import Metrics


class Hooks:
    """The endpoint."""

    def __init__(self, memory: Callable[[], Memory], *, metrics: Metrics) -> None:
        self._memory = memory
        self._metrics = metrics

    async def on_post(
        self, request: falcon.asgi.Request, response: falcon.asgi.Response, *, harness: str, event: str
    ) -> None:
        """Answer one event."""
        if harness not in ROWS or event not in HOOK_EVENTS:
            raise falcon.HTTPNotFound(description=f"kg answers no hook {event[:40]!r} of {harness[:40]!r}.")
        response.content_type = falcon.MEDIA_JSON
        with self._metrics.timed("hook", event) as outcome:
            payload = hook_payload(event, _parsed(await body_of(request)))
            if payload is None:
                outcome.code = "malformed"
                return
            await self._answer(payload, harness, request, response)
            outcome.code = "ok"

    async def _answer(
        self, payload: HookPayload, harness: str, request: falcon.asgi.Request, response: falcon.asgi.Response
    ) -> None:
        memory = self._memory()
        root = identity(request, "Kg-Project-Root")
        place = await memory.locate(payload.cwd, root) if payload.cwd else None
        command: Command
        if payload.event == "SessionStart":
            command = SessionStarted(payload.source, place)
        else:
            command = PromptSubmitted(payload.prompt, place)
        caller = caller_of(request, harness=harness, client_id=clean_identity(payload.client_id))
        answer = await memory.execute(command, caller)
        reply = hook_reply(payload.event, text=answer.text, notice=answer.notice)
        if reply is not None:
            response.data = orjson.dumps(reply)
        if answer.delivery is not None:
            response.set_header(REPLY_DELIVERY, answer.delivery)


def _parsed(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
