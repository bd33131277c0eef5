"""A blocking HTTP request over the service's Unix socket, for the command line, the hooks and the starter.

One connection a request and one deadline over all of it: a service that accepts and then says nothing costs
`timeout_s`, no more. It imports C modules only.
"""

import _socket
from time import monotonic

from kg.limits import READ_BYTES
from shim.http1 import MalformedReply, ReplyReader, request_bytes


class Response:
    """A whole reply; header names are in lower case."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Hold the reply."""
        self.status = status
        self.headers = headers
        self.body = body


def request(
    method: str,
    path: str,
    body: bytes = b"",
    headers: list[tuple[str, str]] | None = None,
    *,
    socket_path: str,
    timeout_s: float,
) -> Response:
    """Send one request and return its reply, whatever its status.

    Raises:
        OSError: nobody listens, the connection broke (ConnectionError), or `timeout_s` passed (TimeoutError).
    """
    deadline = monotonic() + timeout_s
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        connection.connect(socket_path)
        connection.settimeout(_left(deadline))
        connection.sendall(request_bytes(method, path, body, [*(headers or []), ("Connection", "close")]))
        return _reply(connection, deadline)
    finally:
        connection.close()


def _reply(connection: _socket.socket, deadline: float) -> Response:
    reader = ReplyReader()
    while not reader.done:
        connection.settimeout(_left(deadline))
        data = connection.recv(READ_BYTES)
        try:
            if data:
                reader.feed(data)
            else:
                reader.close()
        except MalformedReply as error:
            raise ConnectionError(f"not an HTTP reply: {error}") from error
        if not data and not reader.done:
            raise ConnectionResetError("the service closed the connection before it answered")
    return Response(reader.status, reader.headers, reader.body)


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError("the service did not answer in time")
    return left
