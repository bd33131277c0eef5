"""The requests of one shim: sent, sent again, answered once.

A *call* is a line with an id. It is on a link (sent), or it waits for its next try. Two kinds of failure lead to
another try: nobody listens, or the connection ended before the answer. Resending is safe because a tools/call carries
a key: the service does not carry out a second request with a key it has seen, it repeats the answer. A connection that
was kept from an earlier request and turns out dead says nothing about the service, so that try is not counted.

Each call leaves in exactly one way: an answer line in the outbox, or silence because the client took it back. Lone
acknowledgements are calls without a key; their answer is not written.
"""

import posix

from kg.limits import (
    ANSWER_LIMIT_S,
    CALLS_IN_FLIGHT,
    CALLS_WAITING,
    DISCOVER_LIMIT_S,
    IDLE_LINKS,
    OUTBOX_LIMIT_BYTES,
    RESEND_FIRST_S,
    RESEND_LIMIT_S,
    RESEND_LOST_COUNT,
    RESEND_PAUSE_S,
)
from kg.rpc import DISCOVER, INTERNAL_ERROR, METHOD_NOT_FOUND, TOOLS_CALL
from shim.acks import Acks
from shim.http1 import ReplyReader, request_bytes
from shim.link import Link
from shim.message import Message, answer_line, error_line
from shim.outbox import Outbox
from shim.scan import quote
from shim.service import Service

RPC_PATH = "/rpc"
ACK_PATH = "/deliveries/ack"
TAKEN = (200, 202)  # the acknowledgements that came along were read
LAST_REFUSAL = 499  # an acknowledgement refused with 4xx (but 429) will not be accepted later either
TOO_MANY = 429
KEY_BYTES = 16
QUEUED = float("inf")  # due when another call leaves its link
TRY_AGAIN = "`kg status` tells more; the next call tries again."


class Call:
    """One request, and where it stands."""

    __slots__ = ("acks", "body", "due", "failed_at", "headers", "key", "limit_s", "link", "lost", "method", "pause_s")

    def __init__(self, key: str | None, method: str, body: bytes, headers: list[tuple[str, str]]) -> None:
        """Make a call that has not been tried; `key` None makes it a lone acknowledgement."""
        self.key = key
        self.method = method
        self.body = body
        self.headers = headers
        self.link: Link | None = None
        self.acks: list[str] = []  # carried by the try that is under way
        self.due = 0.0  # of the next try; on a link: when the answer is overdue
        self.failed_at: float | None = None  # first failure
        self.lost = 0  # answers lost after the whole request was out
        self.pause_s = RESEND_FIRST_S
        self.limit_s = DISCOVER_LIMIT_S if method == DISCOVER else ANSWER_LIMIT_S


class Calls:
    """All calls of the shim. `changed` tells the poll loop about links."""

    __slots__ = ("_acks", "_all", "_idle", "_on_link", "_outbox", "_service", "changed")

    def __init__(self, service: Service, outbox: Outbox, acks: Acks) -> None:
        """Begin with none."""
        self._service = service
        self._outbox = outbox
        self._acks = acks
        self._all: list[Call] = []
        self._idle: list[Link] = []
        self._on_link: dict[int, Call] = {}
        self.changed: dict[int, bool | None] = {}  # fd -> wants to send, or None: closed; for the poll loop

    def __len__(self) -> int:
        """Count the calls that owe the client an answer."""
        return sum(1 for call in self._all if call.key is not None)

    def full(self) -> bool:
        """Tell whether stdin should wait."""
        return len(self._all) >= CALLS_WAITING or sum(len(call.body) for call in self._all) > OUTBOX_LIMIT_BYTES

    def begin(self, message: Message, line: bytes, headers: list[tuple[str, str]], now: float) -> None:
        """Take a call and try it."""
        if message.method == TOOLS_CALL:
            headers.append(("Kg-Request", posix.urandom(KEY_BYTES).hex()))
        headers += [("Content-Type", "application/json"), ("Accept", "application/json"), ("Kg-Ack", "1")]
        call = Call(message.key, message.method, line, headers)
        self._all.append(call)
        self._try(call, now)

    def begin_ack(self, now: float) -> None:
        """Send the acknowledgements that travel with no request."""
        call = Call(None, "", b"", [("Content-Type", "application/json")])
        call.acks = self._acks.board_loose()
        self._all.append(call)
        self._try(call, now)

    def cancel(self, key: str, now: float) -> None:
        """The client takes a call back: hang up and say nothing."""
        for call in [call for call in self._all if call.key == key]:
            self._end(call, now)

    def next_due(self) -> float | None:
        """Return when `tick` has something to do."""
        return min((call.due for call in self._all if call.due != QUEUED), default=None)

    def tick(self, now: float) -> None:
        """Try what is due, give up what is overdue."""
        for call in [call for call in self._all if call.due <= now]:
            if call.link is None:
                self._try(call, now)
            elif call.method == DISCOVER:
                self._answer_probe(call, now)
            else:
                text = f"kg did not answer within {call.limit_s:.0f} s; the call may have been carried out: read first."
                self._fail(call, text, now)
        free = CALLS_IN_FLIGHT - len(self._on_link)
        for call in [call for call in self._all if call.due == QUEUED][: max(free, 0)]:
            self._try(call, now)

    def wake(self, now: float) -> None:
        """The start of the service has ended, well or not: all that wait try at once."""
        for call in self._all:
            if call.link is None:
                call.due = now

    def give_up(self, now: float) -> None:
        """Answer all that is left."""
        for call in list(self._all):
            self._fail(call, "kg did not answer before the client closed the connection.", now)

    def ready(self, fd: int, now: float) -> None:
        """A link can be read or written."""
        call = self._on_link.get(fd)
        if call is None or call.link is None:
            self._drop_idle(fd)
            return
        call.link.send_some()
        try:
            whole = call.link.receive()
        except OSError as error:
            self._lose(call, error, now)
            return
        self.changed[fd] = call.link.sending()
        if whole:
            self._finish(call, now)

    def _try(self, call: Call, now: float) -> None:
        if len(self._on_link) >= CALLS_IN_FLIGHT:
            call.due = QUEUED
            return
        try:
            link = self._idle.pop() if self._idle else self._service.connect()
        except BlockingIOError:  # its queue of connections is full: it lives
            self._later(call, "it takes no more connections", now)
            return
        except OSError as error:
            self._unreachable(call, error, now)
            return
        call.link = link
        call.due = now + call.limit_s
        self._on_link[link.fd] = call
        link.begin(self._request(call))
        link.send_some()
        self.changed[link.fd] = link.sending()

    def _request(self, call: Call) -> bytes:
        if call.key is None:
            ids = ",".join(quote(delivery) for delivery in call.acks)
            return request_bytes("POST", ACK_PATH, f'{{"ids":[{ids}]}}'.encode("ascii"), call.headers)
        call.acks = self._acks.board()
        carried = [("Kg-Acked", ",".join(call.acks))] if call.acks else []
        return request_bytes("POST", RPC_PATH, call.body, call.headers + carried)

    def _unreachable(self, call: Call, error: OSError, now: float) -> None:
        if call.key is None:  # not worth a start: a new service knows nothing of old deliveries
            self._end(call, now)
            return
        starting = self._service.start(now)
        if call.method == DISCOVER:
            self._answer_probe(call, now)
        elif starting:
            self._later(call, str(error.strerror or error), now)
        else:
            self._fail(call, f"kg is not running: {self._service.cause}. Nothing was saved. {TRY_AGAIN}", now)

    def _lose(self, call: Call, error: OSError, now: float) -> None:
        """The connection ended before the answer."""
        link = call.link
        stale = link is not None and link.used and (link.reply is None or not link.reply.touched)
        if link is not None and not link.sending() and not stale:
            call.lost += 1
        self._leave_link(call, now)
        if stale:  # the others are from the same time
            for idle in self._idle[:]:
                self._drop_idle(idle.fd)
        if stale and call.key is not None:
            self._try(call, now)
        else:
            self._later(call, str(error.strerror or error), now)

    def _later(self, call: Call, reason: str, now: float) -> None:
        call.failed_at = now if call.failed_at is None else call.failed_at
        if call.key is None:
            self._end(call, now)
        elif call.method == DISCOVER:
            self._answer_probe(call, now)
        elif call.lost > RESEND_LOST_COUNT:
            text = f"kg lost the connection {call.lost} times before it answered; read before you write it again."
            self._fail(call, text, now)
        elif now - call.failed_at > RESEND_LIMIT_S:
            doubt = "The call may have been carried out: read first." if call.lost else "Nothing was saved."
            self._fail(call, f"kg cannot be reached: {reason}. {doubt} {TRY_AGAIN}", now)
        else:
            call.due = now + call.pause_s
            call.pause_s = min(call.pause_s * 2, RESEND_PAUSE_S)

    def _finish(self, call: Call, now: float) -> None:
        link = call.link
        reply = link.reply if link else None
        if link is None or reply is None:
            return
        self._service.seen()
        refused = call.key is None and TOO_MANY != reply.status <= LAST_REFUSAL
        if reply.status in TAKEN or refused:
            self._acks.confirm(call.acks)
            call.acks = []
        del self._on_link[link.fd]
        call.link = None
        if link.rest() and len(self._idle) < IDLE_LINKS:
            self._idle.append(link)
        else:
            self._close(link)
        if call.key is not None:
            self._write(call.key, reply)
        self._end(call, now)

    def _write(self, key: str, reply: ReplyReader) -> None:
        line = answer_line(key, reply.status, reply.body)
        if line is None:
            line = error_line(key, INTERNAL_ERROR, f"kg answered HTTP {reply.status} without a message. {TRY_AGAIN}")
            self._outbox.put(line)
        else:
            self._outbox.put(line, reply.headers.get("kg-delivery", ""))

    def _answer_probe(self, call: Call, now: float) -> None:
        # The client takes this as "an older server" and goes on with initialize, which may wait for the start.
        if call.key is not None:
            self._outbox.put(error_line(call.key, METHOD_NOT_FOUND, "Method not found: server/discover"))
        self._end(call, now)

    def _fail(self, call: Call, text: str, now: float) -> None:
        if call.key is not None:
            self._outbox.put(error_line(call.key, INTERNAL_ERROR, text))
        self._end(call, now)

    def _end(self, call: Call, now: float) -> None:
        self._leave_link(call, now)
        self._all.remove(call)

    def _leave_link(self, call: Call, now: float) -> None:
        self._acks.fail(call.acks, now)
        call.acks = []
        if call.link is not None:
            del self._on_link[call.link.fd]
            self._close(call.link)
            call.link = None

    def _drop_idle(self, fd: int) -> None:
        for link in [link for link in self._idle if link.fd == fd]:
            self._idle.remove(link)
            self._close(link)

    def _close(self, link: Link) -> None:
        self.changed[link.fd] = None
        link.close()
