"""The owner's process as gunicorn sees it: its one web worker, taught to leave well.

Theory of operation. gunicorn's own ASGI worker notices a signal only at its next one-second tick, keeps waiting for
idle connections and open WebSockets until its time limit, stops giving signs of life meanwhile, and leaves without the
application's shutdown on INT, QUIT or a lost parent. This one:

* wakes up at the signal, also while the application is still starting (it then leaves at once, nothing has begun);
* stops listening, answers every request that is under way, and closes each connection the moment it is idle. A request
  is under way from its first byte. A connection on which nothing was sent yet gets a quarter of a second, since its
  client has just been accepted;
* tells WebSockets to come back (close code 1012) and hangs up on those that do not answer;
* then runs the application's shutdown, always.

While it serves it also answers 408 to a client whose request head does not come to its end.

TERM and INT say "leave"; QUIT says "leave", and to a worker that is leaving already "hurry": running requests are no
longer waited for. A second TERM means nothing, because init systems send one to every process of a service. The
application finds out in `scope["state"]["hurried"]`, a live value.

An application whose start fails may leave an exit status of its own in `scope["state"]["exit_status"]`.

On Linux the kernel signals the death of the supervisor; elsewhere the tick notices it.
"""

import asyncio
import ctypes
import os
import select
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gunicorn.arbiter import Arbiter
from gunicorn.asgi.lifespan import LifespanManager
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

from kg import limits

PR_SET_PDEATHSIG = 1  # prctl(2)
COME_BACK = 1012  # close code of a service that restarts
HALTING = (Arbiter.WORKER_BOOT_ERROR, Arbiter.APP_LOAD_ERROR)  # exit statuses that end the supervisor as well


class OwnerWorker(ASGIWorker):  # type: ignore[misc] # gunicorn has no type information
    """See the module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - gunicorn's business
        super().__init__(*args, **kwargs)
        self.connections: set[OwnerConnection] = set()
        self._told = asyncio.Event()
        self._hurried = False
        self._exit_status = 0

    def init_process(self) -> None:
        """Begin the life of the forked process."""
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != self.ppid:  # it died before the line above
                os._exit(0)
        super().init_process()

    def init_signals(self) -> None:
        """Let a closed terminal be the supervisor's business alone, and let an interrupt never hurry.

        A terminal's interrupt reaches both processes, and the supervisor's TERM may be handled before it.
        """
        super().init_signals()
        self.loop.add_signal_handler(signal.SIGINT, self.handle_exit_signal)
        self.loop.add_signal_handler(signal.SIGHUP, lambda: None)

    def handle_exit_signal(self) -> None:
        """Leave, on TERM or INT."""
        self.alive = False
        self._told.set()

    def handle_quit_signal(self) -> None:
        """Leave, on QUIT; it comes to one that is leaving already when it shall hurry."""
        self._hurried = self._told.is_set()
        self.state["hurried"] = self._hurried
        self.handle_exit_signal()

    def run(self) -> None:
        """Serve until told to leave, and leave."""
        try:
            self.loop.run_until_complete(self._serve())
        except Exception:
            self.log.exception("The owner failed")
            self._exit_status = 1
        finally:
            self._quick_shutdown = True  # bounds the wait for tasks that do not end
            self._cleanup()
        if self._exit_status:
            sys.exit(self._exit_status)

    async def _serve(self) -> None:
        if not await self._start():
            return
        await self._listen()
        while self.alive and self.ppid == os.getppid():
            self.notify()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), limits.OWNER_TICK_S)
        self.alive = False
        self._beat()
        await self._drain()
        await self.lifespan.shutdown()

    async def _start(self) -> bool:
        """Run the application's startup; False when it failed or somebody said leave meanwhile."""
        self.state["hurried"] = False
        self.lifespan = LifespanManager(self.asgi, self.log, self.state)
        starting = asyncio.ensure_future(self.lifespan.startup())
        told = asyncio.ensure_future(self._told.wait())
        await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if not starting.done():
            return False  # what it had begun is cancelled by the clean-up
        error = starting.exception()
        if error is not None:
            self.log.error("The service cannot start: %s", error)
            wanted = self.state.get("exit_status")
            self._exit_status = wanted if wanted in HALTING else Arbiter.WORKER_BOOT_ERROR
        return error is None

    async def _listen(self) -> None:
        ASGIProtocol._check_h1c_protocol_available()  # noqa: SLF001 - a subclass would find the parser for itself alone
        for one in self.sockets:
            server = await self.loop.create_server(lambda: OwnerConnection(self), sock=one.sock)
            self.servers.append(server)

    def _beat(self) -> None:
        """Give signs of life while leaving: a drain must not look like a stuck process."""
        self.notify()
        self.loop.call_later(limits.OWNER_TICK_S, self._beat)

    async def _drain(self) -> None:
        for server in self.servers:
            server.close()
        deadline = self.loop.time() + limits.DRAIN_S
        await asyncio.sleep(0)  # what has arrived by now counts as arrived
        while self.connections and not self._hurried and self.loop.time() < deadline:
            leave_all(tuple(self.connections))
            await asyncio.sleep(limits.DRAIN_POLL_S)
        if self.connections:
            self.log.warning("%d connections are cut off with their requests", len(self.connections))
        for connection in tuple(self.connections):
            connection.cut()


class OwnerConnection(ASGIProtocol):  # type: ignore[misc] # gunicorn has no type information
    """A connection that knows whether a request is under way on it."""

    def __init__(self, worker: OwnerWorker) -> None:
        super().__init__(worker)
        self._opened = worker.loop.time()
        self._head_begun = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._farewell: asyncio.Future[None] | None = None
        self._farewell_at: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self.worker.connections.add(self)
        self._expect(limits.KEEPALIVE_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        super().connection_lost(exc)
        self.worker.connections.discard(self)
        self._expect(None)

    def _feed_callback_parser(self, data: bytes) -> bool:
        going: bool = super()._feed_callback_parser(data)
        begun, self._head_begun = self._head_begun, not self._request_ready.is_set()
        if not self._head_begun or self._closed:
            self._expect(None)
        elif not begun:
            self._expect(limits.HEAD_S)
        return going

    def _expect(self, within_s: float | None) -> None:
        """Expect a whole head within this time; gunicorn itself would wait for ever."""
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer = None if within_s is None else self.worker.loop.call_later(within_s, self._head_is_late)

    def _head_is_late(self) -> None:
        if self._awaiting_request:
            if self._head_begun:
                self._send_error_response(408, "Request Timeout")
            self._keepalive_timeout()

    def leave(self) -> None:
        """Close, unless a request is under way; to be called again until the connection is gone."""
        if self._websocket is not None:
            self._leave_websocket()
        elif self._is_idle():
            self._keepalive_timeout()

    def cut(self) -> None:
        """Close, whatever is under way, and cancel the application's call."""
        self._close_transport()
        if self._task is not None:
            self._task.cancel()

    def _is_idle(self) -> bool:
        return bool(
            self._awaiting_request
            and not self._head_begun
            and not self._finishing_calls
            and (self.req_count > 1 or self.worker.loop.time() - self._opened > limits.FIRST_REQUEST_S)
            and not has_input(self.transport)
        )

    def _leave_websocket(self) -> None:
        now = self.worker.loop.time()
        if self._farewell_at is None:
            self._farewell_at = now
            if self._websocket.accepted:
                self._farewell = asyncio.ensure_future(self._websocket._send_close(COME_BACK, "restart"))  # noqa: SLF001
        elif now - self._farewell_at > limits.WEBSOCKET_CLOSE_S:
            self._close_transport()


def leave_all(connections: Iterable[OwnerConnection]) -> None:
    """Let each connection leave that can."""
    for connection in connections:
        connection.leave()


def has_input(transport: asyncio.BaseTransport) -> bool:
    """Say whether bytes have arrived that nobody has read: closing now would answer them with a reset."""
    one = transport.get_extra_info("socket")
    if one is None or one.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(one.fileno(), select.POLLIN)
    return bool(poll.poll(0))
