"""POST /hooks/<harness>/<event>: a client's hook, its stdin as it came.

The answer is exactly what the hook prints, or nothing. A hook must never be in its client's way, so whatever cannot be
understood is answered with silence and counted.
"""

from collections.abc import Callable, Mapping

import falcon
import falcon.asgi
import orjson

from kg.commands import Command, Place, PromptSubmitted, SessionStarted
from kg.harness import ROWS, Envelope, HookPayload, hook_payload
from kg.ports import Memory
from web.exchange import caller_of, clean_identity, hand_over, identity
from web.guard import body_of
from web.metrics import Metrics
from web.payload import parsed

_COMMANDS: Mapping[str, Callable[[HookPayload, Place | None], Command]] = {
    "SessionStart": lambda payload, place: SessionStarted(payload.source, place),
    "UserPromptSubmit": lambda payload, place: PromptSubmitted(payload.prompt, place),
}


class Hooks:
    """The endpoint."""

    def __init__(self, memory: Callable[[], Memory], *, metrics: Metrics) -> None:
        self._memory = memory
        self._metrics = metrics

    async def on_post(
        self, request: falcon.asgi.Request, response: falcon.asgi.Response, *, harness: str, event: str
    ) -> None:
        """Answer one event."""
        row = ROWS.get(harness)
        if row is None or row.envelope is None or event not in row.events | row.silent:
            raise falcon.HTTPNotFound(description=f"kg answers no hook {event[:40]!r} of {harness[:40]!r}.")
        data = await body_of(request)
        response.content_type = falcon.MEDIA_JSON
        with self._metrics.timed("hook", event) as outcome:
            document = _document(data)
            payload = hook_payload(row, event, document)
            if payload is None:
                outcome.code = "malformed" if document is None else "silent"
                return
            await self._answer(payload, harness, row.envelope, request=request, response=response)
            outcome.code = "ok"

    async def _answer(
        self,
        payload: HookPayload,
        harness: str,
        envelope: Envelope,
        *,
        request: falcon.asgi.Request,
        response: falcon.asgi.Response,
    ) -> None:
        memory = self._memory()
        root = identity(request, "Kg-Project-Root")
        place = await memory.locate(payload.cwd, root) if payload.cwd else None
        caller = caller_of(request, harness=harness, client_id=clean_identity(payload.client_id))
        answer = await memory.execute(_COMMANDS[payload.event](payload, place), caller)
        reply = envelope(payload.event, answer.text, answer.notice)
        if reply is not None:
            response.data = orjson.dumps(reply)
        hand_over(memory, answer.delivery, caller, response)


def _document(data: bytes) -> object:
    """The payload if it is a JSON object, else None."""
    try:
        document = parsed(data)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
