"""One connection of the shim to the service, and the request that is on it.

A link is kept for the next request when its reply allows it. Everything is non-blocking: `send_some` and `receive` do
what the socket takes and gives now.
"""

import _socket

from kg.limits import READ_BYTES
from shim.http1 import MalformedReply, ReplyReader


class Link:
    """A connected socket; `reply` is that of the request on it, None while it is idle."""

    __slots__ = ("_connection", "_left", "fd", "reply", "used")

    def __init__(self, path: str) -> None:
        """Connect.

        Raises:
            OSError: nobody listens; BlockingIOError when the listener's queue is full.
        """
        self._connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            self._connection.setblocking(False)
            self._connection.connect(path)
        except OSError:
            self._connection.close()
            raise
        self.fd = self._connection.fileno()
        self.used = False  # it has carried a whole request and reply before
        self.reply: ReplyReader | None = None
        self._left = memoryview(b"")

    def begin(self, request: bytes) -> None:
        """Put a request on the idle link."""
        self._left = memoryview(request)
        self.reply = ReplyReader()

    def sending(self) -> bool:
        """Tell whether part of the request is still here."""
        return bool(self._left)

    def send_some(self) -> None:
        """Send what the socket takes. A broken connection shows in `receive`: it may have been answered before."""
        while self._left:
            try:
                self._left = self._left[self._connection.send(self._left) :]
            except BlockingIOError:
                return
            except OSError:
                self._left = memoryview(b"")

    def receive(self) -> bool:
        """Take what has arrived; return True when the reply is whole.

        Raises:
            ConnectionError: closed before the reply was whole, not HTTP, or bytes while idle.
        """
        try:
            data = self._connection.recv(READ_BYTES)
        except BlockingIOError:
            return False
        if self.reply is None:
            raise ConnectionAbortedError("closed while idle")
        try:
            self.reply.feed(data) if data else self.reply.close()
        except MalformedReply as error:
            raise ConnectionAbortedError(str(error)) from error
        if not data and not self.reply.done:
            raise ConnectionResetError("closed before the answer")
        return self.reply.done

    def rest(self) -> bool:
        """Make the link idle; return False when it cannot carry another request."""
        kept = self.reply is not None and self.reply.reusable and not self._left
        self.reply = None
        self.used = True
        return kept

    def close(self) -> None:
        """Hang up."""
        self._connection.close()
