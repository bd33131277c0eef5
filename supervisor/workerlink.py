"""One worker process, as the owner sees it: spawn it, ask it, notice its end, end it.

Theory of operation. The process is spawned through multiprocess in a thread, because that blocks for milliseconds, and
multiprocess is imported only then, because that takes a tenth of a second. The line to the process is a socket pair on
the event loop. Its end shows twice, as the end of file on the line and through the sentinel that multiprocess keeps;
the first to come counts.
"""

import asyncio
import importlib
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kg import limits
from workers.wire import PREFIX, WireError, head, header_of, lengths


class Gone(Exception):  # noqa: N818 - named for what the process is
    """The process ended, fell silent, or talks nonsense."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A process that was spawned, and this side of the line to it."""

    process: Any
    link: socket.socket


def launch(jobs: str, memory_bytes: int) -> Launched:
    """Spawn a worker; blocks for some milliseconds, the first time for a tenth of a second."""
    multiprocess = importlib.import_module("multiprocess")  # slow, and an owner without jobs never needs it
    serve = importlib.import_module("workers.main").serve
    ours, theirs = socket.socketpair()
    try:
        process = multiprocess.get_context("spawn").Process(
            target=serve, args=(theirs, jobs, memory_bytes), name="kg-worker", daemon=True
        )
        process.start()
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return Launched(process, ours)


def _discard(launched: Launched) -> None:
    launched.link.close()
    launched.process.kill()
    launched.process.join()
    launched.process.close()


class WorkerProcess:
    """One worker process and the line to it."""

    def __init__(self, launched: Launched, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid: int = launched.process.pid
        self.dead = asyncio.Event()
        self._process = launched.process
        self._reader = reader
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._how: str | None = None
        self._loop.add_reader(self._process.sentinel, self._died)

    @classmethod
    async def start(cls, spawn: Callable[[], Launched]) -> "WorkerProcess":
        """Spawn a process without holding up the loop; it has not said anything yet."""
        launching = asyncio.ensure_future(asyncio.to_thread(spawn))
        try:
            launched = await asyncio.shield(launching)
        except asyncio.CancelledError:
            await asyncio.to_thread(_discard, await launching)
            raise
        reader, writer = await asyncio.open_unix_connection(sock=launched.link, limit=4 * limits.JOB_BLOCK_BYTES)
        return cls(launched, reader, writer)

    async def ask(self, header: dict[str, object], payload: bytes) -> tuple[dict[str, object], bytes]:
        """Send one job and return its answer. Gone when there will be none."""
        talking = asyncio.ensure_future(self._talk(header, payload))
        dying = asyncio.ensure_future(self.dead.wait())
        try:
            await asyncio.wait((talking, dying), return_when=asyncio.FIRST_COMPLETED)
            if not talking.done():
                raise Gone("end of the process")
            return talking.result()
        finally:
            for task in (talking, dying):
                task.cancel()

    async def read(self) -> tuple[dict[str, object], bytes]:
        """Return the next message. Gone when there is none for too long."""
        try:
            async with asyncio.timeout(limits.WORKER_SILENT_S):
                header_bytes, body_bytes = lengths(await self._reader.readexactly(PREFIX.size))
                header = header_of(await self._reader.readexactly(header_bytes))
                return header, await self._read_body(body_bytes)
        except TimeoutError as error:
            raise Gone("no sign of life") from error
        except (asyncio.IncompleteReadError, OSError) as error:
            raise Gone("end of file") from error
        except WireError as error:
            raise Gone(f"nonsense, {error}") from error

    async def _read_body(self, count: int) -> bytes:
        """Gather blocks: reading it at once would copy megabytes several times between two turns of the loop."""
        blocks: list[bytes] = []
        while count:
            block = await self._reader.read(min(count, limits.JOB_BLOCK_BYTES))
            if not block:
                raise asyncio.IncompleteReadError(b"", count)
            blocks.append(block)
            count -= len(block)
        return b"".join(blocks)

    async def end(self) -> str:
        """Kill the process unless it is dead; return how it ended. May be called again, also when cancelled."""
        if self._how is None:
            with suppress(OSError, RuntimeError):
                self._writer.close()
            for kill in (self._process.terminate, self._process.kill):
                if not self.dead.is_set():
                    kill()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self.dead.wait(), limits.WORKER_TERM_S)
            await asyncio.to_thread(self._process.join, limits.WORKER_TERM_S)
            self._died()
            self._how = _exit_text(self._process.exitcode)
            with suppress(ValueError):  # it cannot be killed: in the kernel, waiting for a disk
                self._process.close()
        return self._how

    async def _talk(self, header: dict[str, object], payload: bytes) -> tuple[dict[str, object], bytes]:
        try:
            self._writer.write(head(header, len(payload)))
            view = memoryview(payload)
            for start in range(0, len(payload), limits.JOB_BLOCK_BYTES):
                self._writer.write(view[start : start + limits.JOB_BLOCK_BYTES])
                await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise Gone("end of file") from error
        while True:
            answer, body = await self.read()
            if "beat" not in answer:
                return answer, body

    def _died(self) -> None:
        if not self.dead.is_set():
            self._loop.remove_reader(self._process.sentinel)
            self.dead.set()


def _exit_text(code: int | None) -> str:
    if code is None:
        return "still there"
    return f"exit status {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
