"""Journal segments: reading them back, and appending to the newest one on a disk that may fail.

A segment is a file `<first seq, 12 digits>.jsonl`, one event a line, the first of which has that seq. Together the
segments hold one unbroken run of sequence numbers. No threads here: `SegmentWriter` belongs to whoever calls it.

The writer's promise is about what a failure leaves behind. `good` bytes of the current segment are on the medium and
whole. When a write fails, the file is cut back to them, and that cut is synced before anything else is written, so that
a half line can only ever stand at the end of the newest segment, where `read_segment` cuts it. When a sync fails, the
kernel may have dropped the pages and would call the next sync a success; so the same bytes go to a new segment.
"""

import errno
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from kg.errors import JournalDamaged
from supervisor.files import Disk

_NAME = re.compile(r"(\d{12})\.jsonl")
_log = logging.getLogger(__name__)


class Sequenced(Protocol):
    """An event, as far as the journal looks at it."""

    @property
    def seq(self) -> int:
        """Its place in the order of all events, from 1."""
        ...


E = TypeVar("E", bound=Sequenced)


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the journal; `size` in bytes."""

    first: int
    path: Path
    size: int


def list_segments(folder: Path, disk: Disk) -> list[Segment]:
    """Return the segments of this folder, oldest first. Other files in it are none of ours."""
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    return [Segment(first, path, disk.stat(path).st_size) for first, path in sorted(found)]


def read_segment(segment: Segment, *, disk: Disk, decode: Callable[[bytes], E], newest: bool) -> Iterator[E]:
    """Yield the events of one segment; a torn last line of the newest one is cut off first.

    Torn is a line without its end, or one with zero bytes, which is what a power cut leaves of pages that never came.

    Raises:
        JournalDamaged: a line that `decode` refuses, that has another seq than it should, or is torn elsewhere.
        OSError: the torn line cannot be cut off.
    """
    try:
        data = disk.read(segment.path)
    except OSError as error:
        raise JournalDamaged(str(segment.path), 1, f"it cannot be read: {error.strerror}") from error
    good = _whole(data) if newest else len(data)
    if good < len(data):
        _log.warning("%s: a torn last line of %d bytes was cut off", segment.path, len(data) - good)
        _cut(disk, segment.path, good)
    *lines, rest = data[:good].split(b"\n")
    for number, line in enumerate(lines):
        where = (str(segment.path), number + 1)
        try:
            event = decode(line)
        except ValueError as error:
            raise JournalDamaged(*where, str(error)) from error
        if event.seq != segment.first + number:
            raise JournalDamaged(*where, f"it has seq {event.seq} where {segment.first + number} should be")
        yield event
    if rest:
        raise JournalDamaged(str(segment.path), len(lines) + 1, "its end is missing, and a newer segment follows")


def _whole(data: bytes) -> int:
    """Return how many bytes of the data are whole lines."""
    good = data.rfind(b"\n") + 1
    if good == len(data) > 0:
        last = data.rfind(b"\n", 0, good - 1) + 1
        if b"\0" in data[last:]:
            return last
    return good


def _cut(disk: Disk, path: Path, size: int) -> None:
    # Synced, because this segment will not be the newest one for long.
    fd = disk.append(path)
    try:
        disk.truncate(fd, size)
        disk.fsync(fd)
    finally:
        disk.close(fd)


class SegmentWriter:
    """Appends to the newest segment.

    `sizes` maps the first seq of every segment to its good bytes; other threads may copy it, and forget old ones.
    """

    def __init__(self, folder: Path, *, disk: Disk, limit_bytes: int) -> None:
        self.sizes: dict[int, int] = {}
        self._folder = folder
        self._disk = disk
        self._limit_bytes = limit_bytes
        self._first = 0
        self._fd = -1
        self._good = 0
        self._torn = False  # there may be bytes after the good ones
        self._distrusted = False  # a sync of this file failed

    def open(self, first: int) -> None:
        """Begin the segment whose first event will have this seq.

        Raises:
            OSError: nothing changed, but for an empty file perhaps.
        """
        path = self.path_of(first)
        if first == self._first and not self._good:
            self._disk.unlink(path)  # nothing of it was ever saved; a file whose sync failed is not used again
        fd = self._disk.append(path)
        try:
            if size := self._disk.stat(path).st_size:
                raise FileExistsError(errno.EEXIST, f"it holds {size} bytes already", str(path))
            self._disk.sync_folder(self._folder)
        except OSError:
            with suppress(OSError):
                self._disk.close(fd)
            raise
        self.close()
        self._fd, self._first, self._good = fd, first, 0
        self._torn = self._distrusted = False
        self.sizes[first] = 0

    def write(self, first: int, data: bytes) -> None:
        """Append whole lines, the first of which has the seq `first`, and return when they are on the medium.

        Raises:
            OSError: none of them counts as written; the same call may be repeated, also with more lines.
        """
        try:
            self._mend(first)
            if self._good and self._good + len(data) > self._limit_bytes:
                self.open(first)
            self._torn = True
            self._disk.write(self._fd, data)
            self._sync()
        except OSError:
            with suppress(OSError):
                self._cut_back()
            raise
        self._torn = False
        self._good += len(data)
        self.sizes[self._first] = self._good

    def close(self) -> None:
        """Give the file back; nothing is written."""
        if self._fd >= 0:
            with suppress(OSError):
                self._disk.close(self._fd)
            self._fd = -1

    @property
    def path(self) -> Path:
        """The newest segment."""
        return self.path_of(self._first)

    def path_of(self, first: int) -> Path:
        """Return the path of the segment that begins with this seq."""
        return self._folder / f"{first:012d}.jsonl"

    def _mend(self, first: int) -> None:
        self._cut_back()
        if self._distrusted:
            self.open(first)

    def _cut_back(self) -> None:
        if self._torn:
            self._disk.truncate(self._fd, self._good)
            self._sync()
            self._torn = False

    def _sync(self) -> None:
        try:
            self._disk.fsync(self._fd)
        except OSError:
            self._distrusted = True
            raise


def cause_of(error: OSError, path: Path) -> str:
    """Return why the disk refused, in its own words, with the file it names, else `path`: a write names none."""
    return f"{error.strerror or os.strerror(error.errno or errno.EIO)} ({error.filename or path})"
