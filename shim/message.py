"""What a line on stdin means, and the lines the shim answers by itself. Pure.

A line is a *call* (it has an id and gets exactly one answer), a *notification* (nothing is ever written for it), or is
refused here with an answer whose id is null, because no id can be trusted in it. The line itself goes on to the service
as it came; only what the shim must know is read out of it.
"""

from kg.rpc import CANCELLED, INVALID_REQUEST, JSONRPC, PARSE_ERROR
from shim.scan import Number, parse, quote


class Refused(Exception):  # noqa: N818 - an answer, not a fault of the program
    """The line gets this error, with id null."""

    def __init__(self, code: int, text: str) -> None:
        """Keep the parts of the answer."""
        super().__init__(text)
        self.code = code
        self.text = text


class Message:
    """One JSON-RPC message.

    `key` is the id as JSON text, None for a notification: text compares and prints the same for every kind of id.
    """

    __slots__ = ("key", "meta", "method", "params")

    def __init__(self, key: str | None, method: str, params: dict[str, object]) -> None:
        """Hold the parts."""
        self.key = key
        self.method = method
        self.params = params
        self.meta = table(params.get("_meta"))

    def cancels(self) -> str | None:
        """Return the key of the call that this notification takes back."""
        return id_key(self.params.get("requestId")) if self.method == CANCELLED else None


def read_message(line: bytes) -> Message | None:
    """Return the message in one line; None for the client's answer to somebody (the service never asks).

    Raises:
        Refused: the line is no message.
    """
    try:
        value = parse(line)
    except ValueError as error:
        raise Refused(PARSE_ERROR, f"Parse error: {error}") from error
    if not isinstance(value, dict):
        raise Refused(INVALID_REQUEST, "Invalid Request: send one JSON object a line; batches are not served")
    method = value.get("method")
    if method is None and ("result" in value or "error" in value):
        return None
    if not _is_text(method):
        raise Refused(INVALID_REQUEST, "Invalid Request: method must be a string")
    if "id" not in value:
        return Message(None, str(method), table(value.get("params")))
    key = id_key(value["id"])
    if key is None:
        raise Refused(INVALID_REQUEST, "Invalid Request: id must be a string or a number")
    return Message(key, str(method), table(value.get("params")))


def id_key(value: object) -> str | None:
    """Return an id as JSON text, None for what cannot be one."""
    if isinstance(value, Number):
        return str(value)
    return quote(value) if isinstance(value, str) else None


def error_line(key: str | None, code: int, text: str) -> bytes:
    """Return an error answer, without the line end."""
    problem = f'{{"code":{code},"message":{quote(text)}}}'
    return f'{{"jsonrpc":"{JSONRPC}","id":{key or "null"},"error":{problem}}}'.encode("ascii")


def answer_line(key: str, status: int, body: bytes) -> bytes | None:
    """Return the service's reply as one line that answers `key`; None when it is no JSON-RPC message.

    A refusal whose id is null (the service could not read what the shim could) still answers the call.
    """
    # Line ends inside JSON stand between tokens, so blanks say the same.
    line = body.replace(b"\r", b" ").replace(b"\n", b" ").strip()
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return None
    if status == 200:  # noqa: PLR2004 - what the service says to a call it has understood
        return line
    try:
        value = table(parse(line))
    except ValueError:
        return None
    if id_key(value.get("id")) == key:
        return line
    problem = table(value.get("error"))
    code, text = problem.get("code"), problem.get("message")
    if not isinstance(code, Number) or not _is_text(text):
        return None
    return error_line(key, int(code), str(text))


def table(value: object) -> dict[str, object]:
    """Return `value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)
