"""HTTP/1.1 as far as a client of our own server needs it, without I/O.

`request_bytes` writes a request, `ReplyReader` takes a reply in whatever pieces it arrives. A reply ends by its
Content-Length, by its last chunk, or with the connection. The blocking client and the shim's poll loop share both.
"""

from kg.limits import HTTP_HEAD_BYTES

SMALLEST_FINAL_STATUS = 200
BODILESS = (204, 304)


class MalformedReply(Exception):  # noqa: N818 - named for what it is, as the other refusals of the shim are
    """The other side does not speak HTTP."""


def request_bytes(method: str, path: str, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    """Return one request; header values have to be safe (`identity.safe_value`)."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


class ReplyReader:
    """One reply; `done` is true when it is whole, and only then the other fields are."""

    __slots__ = ("_buffer", "_chunks", "_left", "_step", "body", "done", "headers", "reusable", "status", "touched")

    def __init__(self) -> None:
        """Wait for a status line."""
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.done = False
        self.reusable = False
        self.touched = False  # at least one byte of the reply has arrived
        self._buffer = bytearray()
        self._chunks: list[bytes] = []
        self._left = 0
        self._step = self._read_head

    def feed(self, data: bytes) -> None:
        """Take the next bytes.

        Raises:
            MalformedReply: this is no HTTP reply.
        """
        self.touched = True
        self._buffer += data
        while not self.done and self._step():
            pass

    def close(self) -> None:
        """Take the end of the connection; a reply without a length ends with it."""
        if self._step == self._read_to_close:
            self._finish(bytes(self._buffer), reusable=False)

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HTTP_HEAD_BYTES:
                raise MalformedReply("no end of the headers")
            return False
        lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        version, _, rest = lines[0].partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            raise MalformedReply("no status line")
        self.status = int(rest[:3])
        self.headers = {
            name.strip().lower(): value.strip() for name, _, value in (ln.partition(":") for ln in lines[1:])
        }
        self.reusable = version != "HTTP/1.0" and self.headers.get("connection", "").lower() != "close"
        if self.status >= SMALLEST_FINAL_STATUS:
            self._choose_body()
        return True

    def _choose_body(self) -> None:
        if self.status in BODILESS:
            self._finish(b"", reusable=self.reusable)
        elif "chunked" in self.headers.get("transfer-encoding", "").lower():
            self._step = self._read_chunk_size
        elif (length := self.headers.get("content-length")) is None:
            self._step = self._read_to_close
        elif not length.isdigit():
            raise MalformedReply("no length")
        else:
            self._left = int(length)
            self._step = self._read_sized

    def _read_sized(self) -> bool:
        if len(self._buffer) >= self._left:
            self._finish(bytes(self._buffer[: self._left]), reusable=self.reusable and len(self._buffer) == self._left)
        return False

    def _read_to_close(self) -> bool:
        return False

    def _read_chunk_size(self) -> bool:
        line = self._line()
        if line is None:
            return False
        try:
            self._left = int(line.partition(b";")[0], 16)
        except ValueError:
            raise MalformedReply("no chunk size") from None
        self._step = self._read_chunk if self._left else self._read_trailer
        return True

    def _read_chunk(self) -> bool:
        if len(self._buffer) < self._left + 2:
            return False
        self._chunks.append(bytes(self._buffer[: self._left]))
        del self._buffer[: self._left + 2]
        self._step = self._read_chunk_size
        return True

    def _read_trailer(self) -> bool:
        line = self._line()
        if line == b"":
            self._finish(b"".join(self._chunks), reusable=self.reusable and not self._buffer)
        return line is not None

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _finish(self, body: bytes, *, reusable: bool) -> None:
        self.body = body
        self.reusable = reusable
        self.done = True
