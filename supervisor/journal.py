"""The journal: the one log that makes changes durable, with group commit.

Theory of operation. The owner's loop appends a line per event and goes on; a reply waits in `synced`. One committer
thread takes whatever has been appended by then, writes and syncs it once, and wakes all the waiters with one hop into
the loop; while it syncs, the next group gathers by itself. The two threads share no lock: lines travel through a queue,
results through `call_soon_threadsafe`, and the few plain numbers that both read have one writer each.

Events that nobody waits for (read stamps, tool counts) do not wake the disk: they ride along with the next group, or go
out alone a moment later.

A group that cannot be written fails its waiters with NotSaved and stays, in order, at the head of the next group, which
goes out with the next wish or after `retry_s`, and once more at `close`. So order and numbering never depend on how
often the disk failed. supervisor/segments.py keeps the files whole meanwhile.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from time import monotonic, perf_counter
from typing import Final, Generic

from kg import limits
from kg.errors import JournalDamaged, NotSaved
from supervisor.files import Disk
from supervisor.segments import E, SegmentWriter, cause_of, list_segments, read_segment

_log = logging.getLogger(__name__)

_Line = tuple[int, bytes]
_WANTED: Final = "wanted"  # somebody waits
_STOP: Final = "stop"


class Journal(Generic[E]):
    """All segments of one folder. `load`, then `open_segment`, then `append` and `synced`, at last `close`.

    Args:
        folder: `journal/` below the storage root; it exists.
        disk: where to write.
        decode: turns one line into an event, ValueError when it cannot.
        retry_s: pause after a failed group.
        segment_bytes: size past which a new segment begins.
    """

    def __init__(
        self,
        folder: Path,
        *,
        disk: Disk,
        decode: Callable[[bytes], E],
        retry_s: float = limits.JOURNAL_RETRY_S,
        segment_bytes: int = limits.JOURNAL_SEGMENT_BYTES,
    ) -> None:
        self._folder = folder
        self._disk = disk
        self._decode = decode
        self._retry_s = retry_s
        self._writer = SegmentWriter(folder, disk=disk, limit_bytes=segment_bytes)
        self._work: queue.SimpleQueue[_Line | str] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._closing = False
        self._last_seq = 0
        # Written by the committer thread alone:
        self._synced_seq = 0
        self._failed_seq = 0
        self._last_error: str | None = None
        self._last_sync_ms = 0.0
        self._ended = False

    # --- state, for health -------------------------------------------------------------------------------------------

    @property
    def last_seq(self) -> int:
        """Seq of the newest event, saved or not; 0 before the first."""
        return self._last_seq

    @property
    def first_seq(self) -> int | None:
        """Seq with which the kept history begins, None before there is a segment."""
        return min(self._writer.sizes.copy(), default=None)

    @property
    def synced_seq(self) -> int:
        """Seq up to which everything is on disk."""
        return self._synced_seq

    @property
    def unsaved_count(self) -> int:
        """Events that are in memory only because the disk refused them; 0 while all is well."""
        return self._last_seq - self._synced_seq if self._failed_seq > self._synced_seq else 0

    @property
    def last_error(self) -> str | None:
        """Why the last group was not written, None when it was."""
        return self._last_error

    @property
    def last_sync_ms(self) -> float:
        """How long the last good write and sync took, in milliseconds."""
        return self._last_sync_ms

    @property
    def segments(self) -> int:
        """Number of kept segments."""
        return len(self._writer.sizes)

    @property
    def size_bytes(self) -> int:
        """Size of all kept segments."""
        return sum(self._writer.sizes.copy().values())

    # --- reading -----------------------------------------------------------------------------------------------------

    def load(self, after: int = 0) -> Iterator[E]:
        """Yield the events with a seq above `after`, in order; once all were taken, `last_seq` is known.

        Segments that hold nothing above `after` are not opened. A torn last line of the last one is cut off.

        Raises:
            JournalDamaged: a line is unreadable, or a seq is missing or there twice.
        """
        found = list_segments(self._folder, self._disk)
        expected = found[0].first if found else 1
        for number, segment in enumerate(found, start=1):
            if segment.first != expected:
                raise JournalDamaged(str(segment.path), 1, f"seq {expected} should come next")
            newest = number == len(found)
            if not newest and found[number].first <= after + 1:
                expected = found[number].first
                self._writer.sizes[segment.first] = segment.size
                continue
            for event in read_segment(segment, disk=self._disk, decode=self._decode, newest=newest):
                expected = event.seq + 1
                if event.seq > after:
                    yield event
            self._writer.sizes[segment.first] = self._disk.stat(segment.path).st_size
        self._last_seq = self._synced_seq = expected - 1

    # --- appending ---------------------------------------------------------------------------------------------------

    def open_segment(self, next_seq: int) -> None:
        """Begin a new segment and take events from now on. Once per owner, after `load`; blocks for one sync.

        `next_seq` may differ from `last_seq + 1` only while no kept segment holds an event.

        Raises:
            JournalDamaged: the graph files know events that the kept segments lack.
            OSError: the folder cannot be written.
        """
        if self.size_bytes and next_seq != self._last_seq + 1:
            newest = self._writer.path_of(max(self._writer.sizes))
            raise JournalDamaged(
                str(newest), 0, f"it ends with seq {self._last_seq}, and a file holds seq {next_seq - 1}"
            )
        for segment in list_segments(self._folder, self._disk):
            if segment.size == 0 and segment.first != next_seq:  # an owner began it and had nothing to say
                self._disk.unlink(segment.path)
                self._writer.sizes.pop(segment.first, None)
        self._writer.open(next_seq)
        self._last_seq = self._synced_seq = next_seq - 1
        self._thread = threading.Thread(target=self._commit_groups, name="kg-journal", daemon=True)
        self._thread.start()

    def append(self, seq: int, line: bytes) -> None:
        """Take one event's line, without its line end. Returns at once; `synced` tells when it is on disk.

        Raises:
            NotSaved: the journal was closed.
            ValueError: not the next seq, or more than one line.
        """
        if self._closing or self._ended or self._thread is None:
            raise NotSaved("the journal is closed")
        if seq != self._last_seq + 1:
            raise ValueError(f"seq {seq} does not follow {self._last_seq}")
        if b"\n" in line:
            raise ValueError(f"the event {seq} is more than one line")
        self._last_seq = seq
        self._work.put((seq, line))

    async def synced(self, seq: int) -> None:
        """Return when the event of this seq, and so every earlier one, is on disk.

        For an event that failed before, this asks for another try and tells its result.

        Raises:
            NotSaved: the try that contained the event failed; it is kept and tried again.
        """
        # Before synced_seq is looked at: the committer stores its result first and looks for a loop second.
        loop = self._loop = asyncio.get_running_loop()
        if seq <= self._synced_seq:
            return
        if self._ended or self._thread is None:
            raise NotSaved(self._last_error or "the journal is closed")
        waiter = loop.create_future()
        self._waiters.append((seq, waiter))
        self._work.put(_WANTED)
        await waiter

    async def close(self) -> None:
        """Try once more to save what is left, and end the committer; `unsaved_count` tells whether it worked."""
        self._closing = True
        if self._thread is not None:
            self._work.put(_STOP)
            await asyncio.to_thread(self._thread.join)

    # --- keeping -----------------------------------------------------------------------------------------------------

    def drop_old(self, checkpoint_seq: int, now: float, *, days: float, mib: float) -> int:
        """Remove the oldest segments that nothing needs any more; returns how many went.

        Args:
            checkpoint_seq: every graph has a file that holds all events up to this seq.
            now: seconds since the epoch.
            days: history that is this old is not kept.
            mib: while all segments are larger than this together, younger history is not kept either.
        """
        kept = sorted(self._writer.sizes.copy().items())
        total = sum(size for _, size in kept)
        dropped = 0
        for (first, size), (follower, _) in pairwise(kept):
            path = self._writer.path_of(first)
            try:
                old = now - self._disk.stat(path).st_mtime > days * limits.DAY_S
                if follower - 1 > checkpoint_seq or not (old or total > mib * limits.MIB):
                    break
                self._disk.unlink(path)
            except OSError as error:
                _log.warning("an old journal segment could not be removed: %s", cause_of(error, path))
                break
            self._writer.sizes.pop(first, None)
            total -= size
            dropped += 1
        return dropped

    # --- the committer thread ----------------------------------------------------------------------------------------

    def _commit_groups(self) -> None:
        group: list[_Line] = []
        try:
            while self._gather(group):
                self._save(group)
            self._save(group)
        finally:
            # Also when a fault ends this thread: nobody may wait for it.
            self._ended = True
            self._tell(self._refuse, self._last_seq, self._last_error or "the journal ended")
            self._writer.close()

    def _gather(self, group: list[_Line]) -> bool:
        """Add what was appended to the group, and return when it is time to save it; False at the end."""
        deadline = monotonic() + self._retry_s if group else None
        wanted = False
        while not (wanted and self._work.empty()):
            try:
                item = self._work.get(timeout=None if deadline is None else max(0.0, deadline - monotonic()))
            except queue.Empty:
                break
            if item is _STOP:
                return False
            if isinstance(item, tuple):
                group.append(item)
                deadline = deadline or monotonic() + limits.JOURNAL_RIDE_ALONG_S
            else:
                wanted = True
        return True

    def _save(self, group: list[_Line]) -> None:
        if not group:
            return
        last = group[-1][0]
        began = perf_counter()
        try:
            self._writer.write(group[0][0], b"\n".join([line for _, line in group]) + b"\n")
        except OSError as error:
            cause = cause_of(error, self._writer.path)
            if cause != self._last_error:
                _log.error("the journal cannot be written: %s; %d events wait in memory", cause, len(group))
            self._failed_seq, self._last_error = last, cause
            self._tell(self._refuse, last, cause)
            return
        self._last_sync_ms = (perf_counter() - began) * 1000
        if self._last_error is not None:
            _log.warning("the journal can be written again: %d events saved", len(group))
        self._synced_seq, self._last_error = last, None
        group.clear()
        self._tell(self._release, last)

    def _tell(self, callback: Callable[..., None], *args: object) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(callback, *args)

    # --- back on the loop --------------------------------------------------------------------------------------------

    def _release(self, last: int) -> None:
        for waiter in self._take_waiters(last):
            waiter.set_result(None)

    def _refuse(self, last: int, cause: str) -> None:
        for waiter in self._take_waiters(last):
            waiter.set_exception(NotSaved(cause))

    def _take_waiters(self, last: int) -> list[asyncio.Future[None]]:
        """Return those who wait for a seq up to `last` and have not given up."""
        waiting, self._waiters = self._waiters, []
        taken = []
        for seq, waiter in waiting:
            if seq > last:
                self._waiters.append((seq, waiter))
            elif not waiter.done():
                taken.append(waiter)
        return taken
