"""The stdio shim: one line in, one POST, one line out.

A client starts one of these and speaks newline-delimited JSON-RPC with it. The shim knows no tool and keeps no state of
the protocol: each line goes to the service's /rpc as it came, so client and service may restart without each other.
One poll loop does everything: stdin is cut into lines (here), calls travel on links of their own (`calls`), replies
leave through the outbox (`outbox`), and what has been read is acknowledged (`acks`).

It starts and stays small because it imports C modules only. It ends when stdin has ended and the running calls are
answered, or at once when nobody reads stdout. Nothing but answers is ever written to stdout; stderr stays empty unless
the shim itself breaks.
"""

import posix
import select
import sys
from _signal import SIG_DFL, SIGINT, signal  # type: ignore[import-not-found]  # typeshed has only the Python side
from time import monotonic

from kg.limits import (
    LINE_LIMIT_BYTES,
    OUTBOX_LIMIT_BYTES,
    READ_BYTES,
    SHIM_LAST_ACK_S,
    SHIM_LAST_S,
)
from kg.rpc import PARSE_ERROR
from shim.acks import Acks
from shim.calls import Calls
from shim.identity import Identity
from shim.message import Refused, error_line, read_message
from shim.outbox import Outbox
from shim.scan import BLANKS
from shim.service import Service

STDIN = 0
STDOUT = 1
WRONG_USE = 2
GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL
BLANK_BYTES = BLANKS.encode("ascii")
USAGE = "usage: kg mcp (speaks MCP on stdin and stdout; takes no arguments)\n"


class Lines:
    """Cuts stdin into lines; a line beyond the limit is skipped and reported once, as None."""

    __slots__ = ("_buffer", "_skipping")

    def __init__(self) -> None:
        """Begin at a line start."""
        self._buffer = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """Return the lines that `data` completes; no data means the end, which completes the last one."""
        seen = len(self._buffer)
        self._buffer += data or b"\n"
        lines: list[bytes | None] = []
        start = 0
        while (end := self._buffer.find(b"\n", max(start, seen))) >= 0:
            if not self._skipping:
                lines.append(bytes(self._buffer[start:end]))
            self._skipping = False
            start = end + 1
        del self._buffer[:start]
        if len(self._buffer) > LINE_LIMIT_BYTES:
            self._buffer.clear()
            if not self._skipping:
                lines.append(None)
            self._skipping = True
        return lines


class Relay:
    """The poll loop between one client and the service."""

    __slots__ = (
        "_acks",
        "_calls",
        "_ended_at",
        "_identity",
        "_leaving_at",
        "_lines",
        "_outbox",
        "_poller",
        "_reading",
        "_service",
    )

    def __init__(self, service: Service, identity: Identity) -> None:
        """Wire the parts."""
        self._service = service
        self._identity = identity
        self._outbox = Outbox()
        self._acks = Acks()
        self._calls = Calls(service, self._outbox, self._acks)
        self._lines = Lines()
        self._poller = select.poll()
        self._reading = False
        self._ended_at: float | None = None  # end of stdin
        self._leaving_at: float | None = None  # nothing is owed to the client any more

    def run(self) -> None:
        """Serve until the client is done."""
        while not self._finished(monotonic()):
            self._register()
            for fd, events in self._poller.poll(self._patience(monotonic())):
                now = monotonic()
                if fd == STDIN:
                    self._read(now)
                elif fd == STDOUT:
                    if events & GONE or not self._write(now):
                        return
                elif fd == self._service.pipe:
                    self._starter_spoke(fd, now)
                else:
                    self._calls.ready(fd, now)
            self._tick(monotonic())

    def _register(self) -> None:
        """Bring the poller up to date with what can happen now."""
        full = self._calls.full() or self._outbox.size > OUTBOX_LIMIT_BYTES
        wanted = self._ended_at is None and not full
        if wanted != self._reading:
            # A full shim must not watch stdin at all: its hang-up would be reported again and again.
            self._poller.register(STDIN, select.POLLIN) if wanted else self._poller.unregister(STDIN)
            self._reading = wanted
        self._poller.register(STDOUT, select.POLLOUT if self._outbox.size else 0)
        for fd, sending in self._calls.changed.items():
            if sending is None:
                self._forget(fd)
            else:
                self._poller.register(fd, select.POLLIN | (select.POLLOUT if sending else 0))
        self._calls.changed.clear()
        if self._service.pipe >= 0:  # after the links: it may have got the number of one that has just been closed
            self._poller.register(self._service.pipe, select.POLLIN)

    def _forget(self, fd: int) -> None:
        try:
            self._poller.unregister(fd)
        except KeyError:
            return  # it came and went between two rounds

    def _patience(self, now: float) -> float | None:
        """Return how long to poll, in milliseconds; None while there is nothing to wait for."""
        dues = [self._calls.next_due(), self._acks.due()]
        if self._ended_at is not None:
            dues += [self._ended_at + SHIM_LAST_S]
        if self._leaving_at is not None:
            dues += [self._leaving_at + SHIM_LAST_ACK_S]
        waits = [max(due - now, 0.0) for due in dues if due is not None]
        return min(waits) * 1000 + 1 if waits else None  # poll rounds down

    def _read(self, now: float) -> None:
        data = self._read_stdin()
        if not data:
            self._ended_at = now
        for line in self._lines.feed(data):
            self._take(line, now)

    def _read_stdin(self) -> bytes:
        try:
            return posix.read(STDIN, READ_BYTES)
        except OSError:
            return b""

    def _take(self, line: bytes | None, now: float) -> None:
        if line is None:
            text = f"Parse error: a line of more than {LINE_LIMIT_BYTES} bytes"
            self._outbox.put(error_line(None, PARSE_ERROR, text))
            return
        line = line.strip(BLANK_BYTES)
        if not line:
            return
        try:
            message = read_message(line)
        except Refused as refusal:
            self._outbox.put(error_line(None, refusal.code, refusal.text))
            return
        if message is None:
            return
        if message.key is not None:
            self._calls.begin(message, line, self._identity.headers_for(message), now)
        elif (key := message.cancels()) is not None:
            self._calls.cancel(key, now)

    def _write(self, now: float) -> bool:
        """Write a piece; return False when nobody reads."""
        try:
            delivery = self._outbox.write_some(STDOUT)
        except OSError:
            return False
        if delivery:
            self._acks.add(delivery, now)
        return True

    def _starter_spoke(self, pipe: int, now: float) -> None:
        if self._service.starter_spoke(now):
            self._forget(pipe)
            self._calls.wake(now)

    def _tick(self, now: float) -> None:
        self._calls.tick(now)
        if self._ended_at is not None:
            self._tick_leaving(now, self._ended_at)
        due = self._acks.due()
        if due is not None and due <= now:
            self._calls.begin_ack(now)

    def _tick_leaving(self, now: float, ended_at: float) -> None:
        if now - ended_at > SHIM_LAST_S:
            self._calls.give_up(now)
        if self._leaving_at is None and not len(self._calls) and not self._outbox.size:
            self._leaving_at = now
            if self._acks.due() is not None:
                self._calls.begin_ack(now)

    def _finished(self, now: float) -> bool:
        if self._leaving_at is not None:
            return not self._acks or now - self._leaving_at > SHIM_LAST_ACK_S
        return self._ended_at is not None and now - self._ended_at > SHIM_LAST_S + SHIM_LAST_ACK_S


def main(arguments: list[str], main_file: str) -> int:
    """Serve one client on stdin and stdout; return the exit code. `main_file` is the path of main.py."""
    if arguments:
        # --proposal is reserved for maintenance runs; taking it without meaning it would write to the live memory.
        sys.stderr.write(f"kg mcp: unexpected argument {arguments[0]!r}\n{USAGE}")
        return WRONG_USE
    signal(SIGINT, SIG_DFL)  # clients stop a server this way: no traceback
    try:
        Relay(Service(main_file, posix.environ), Identity(posix.environ)).run()
    except Exception as error:  # noqa: BLE001 - the last handler of this process
        sys.stderr.write(f"kg mcp: internal error: {error!r}\n")
        return 1
    return 0
