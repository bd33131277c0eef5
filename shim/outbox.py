"""Lines on their way to stdout, and the deliveries that are read once their line is out.

A delivery counts only when its whole line has left this process. stdout stays a blocking file, because its flags are
shared with whoever else holds it; a piece of PIPE_BUF bytes never blocks where poll has said that it may be written.
"""

import posix
from select import PIPE_BUF


class Outbox:
    """Whole lines in order, written in pieces; nothing ever mixes two lines."""

    __slots__ = ("_lines", "_written", "size")

    def __init__(self) -> None:
        """Begin empty."""
        self.size = 0
        self._lines: list[tuple[bytes, str]] = []
        self._written = 0  # bytes of the first line that are out

    def put(self, line: bytes, delivery: str = "") -> None:
        """Queue one line, given without its end."""
        self._lines.append((line + b"\n", delivery))
        self.size += len(line) + 1

    def write_some(self, fd: int) -> str:
        """Write one piece; return the delivery that has just been read as a whole, else an empty text.

        Raises:
            OSError: nobody reads any more.
        """
        line, delivery = self._lines[0]
        count = posix.write(fd, memoryview(line)[self._written : self._written + PIPE_BUF])
        self.size -= count
        self._written += count
        if self._written < len(line):
            return ""
        del self._lines[0]
        self._written = 0
        return delivery
