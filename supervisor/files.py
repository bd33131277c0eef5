"""The one place that opens files for writing under the storage root.

Theory of operation. Every change of a file goes through a `Disk`, a handful of primitive operations, so that tests can
let each single one fail or tear. On top of it stand three ways to write and no others:

* `write_durably` replaces a file as a whole: temporary file beside it, fsync, rename, fsync of the folder. Whoever
  reads, at any moment and after any crash, finds the old content or the new one, or finds nothing under the name and
  the old content as the previous copy. Symbolic links are followed first, so a link into another folder stays a link;
  temporary file and previous copy then lie beside the target (`temporary`, `previous`).
* `append_log` adds a line to a log that nobody's memory depends on; it answers False instead of raising.
* the journal (supervisor/segments.py) appends through the same `Disk`.

Everything is readable by its owner alone: files 0600, folders 0700, whatever the umask.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kg import limits

FILE_MODE = 0o600
FOLDER_MODE = 0o700
LOG_LIMITS_BYTES: Mapping[str, int] = {
    "recall.jsonl": limits.RECALL_LOG_BYTES,
    "useful.jsonl": limits.USEFUL_LOG_BYTES,
    "chores.jsonl": limits.CHORES_LOG_BYTES,
    "server.log": limits.SERVER_LOG_BYTES,
}


class Disk(Protocol):
    """What kg asks of a disk. Every operation may raise OSError; after one that did, its effect is unknown."""

    def create(self, path: Path) -> int:
        """Open for writing, emptied, made when missing; never through a symbolic link. Returns a descriptor."""
        ...

    def append(self, path: Path) -> int:
        """Open for writing at the end, made when missing. Returns a descriptor."""
        ...

    def write(self, fd: int, data: bytes) -> None:
        """Write all of the data; an error may leave a part of it in the file."""
        ...

    def fsync(self, fd: int) -> None:
        """Return when the file's content is on the medium."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to this many bytes."""
        ...

    def close(self, fd: int) -> None:
        """Give the descriptor back."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Let the file have another name, in place of the file that has it now."""
        ...

    def unlink(self, path: Path) -> None:
        """Remove the name; a missing one is fine."""
        ...

    def make_folder(self, path: Path) -> None:
        """Make one folder, for its owner alone."""
        ...

    def sync_folder(self, path: Path) -> None:
        """Return when the names in the folder are on the medium."""
        ...

    def read(self, path: Path) -> bytes:
        """Return the whole content."""
        ...

    def stat(self, path: Path) -> os.stat_result:
        """Return what the file system knows of the file; links are followed."""
        ...


class RealDisk:
    """The disk of this machine."""

    def create(self, path: Path) -> int:
        """See Disk. A temporary name that somebody made a link is refused: it would be written through."""
        return _private(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE))

    def append(self, path: Path) -> int:
        """See Disk."""
        return _private(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE))

    def write(self, fd: int, data: bytes) -> None:
        """See Disk."""
        written = os.write(fd, data)
        while written < len(data):
            written += os.write(fd, memoryview(data)[written:])

    def fsync(self, fd: int) -> None:
        """See Disk."""
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        """See Disk."""
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        """See Disk."""
        os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        """See Disk."""
        source.replace(target)

    def unlink(self, path: Path) -> None:
        """See Disk."""
        path.unlink(missing_ok=True)

    def make_folder(self, path: Path) -> None:
        """See Disk."""
        path.mkdir(mode=FOLDER_MODE)
        path.chmod(FOLDER_MODE)

    def sync_folder(self, path: Path) -> None:
        """See Disk."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def read(self, path: Path) -> bytes:
        """See Disk."""
        return path.read_bytes()

    def stat(self, path: Path) -> os.stat_result:
        """See Disk."""
        return path.stat()


def _private(fd: int) -> int:
    """Take the rights of others away, also from a file that was there before."""
    try:
        if stat.S_IMODE(os.fstat(fd).st_mode) != FILE_MODE:
            os.fchmod(fd, FILE_MODE)
    except OSError:
        os.close(fd)
        raise
    return fd


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Enough of a file to notice cheaply that somebody wrote it. `mtime_ns` nanoseconds, `size` bytes."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_durably` left behind, taken before the rename, so that no later edit can be mistaken for it."""

    fingerprint: Fingerprint
    sha256: str


def fingerprint(path: Path) -> Fingerprint | None:
    """Return the fingerprint of the file that the path leads to, None when there is none."""
    try:
        return _print(path.stat())
    except FileNotFoundError:
        return None


def sha256(path: Path) -> str:
    """Return the SHA-256 of the file's content, 64 hex digits. OSError when it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def temporary(path: Path) -> Path:
    """Return where `write_durably` prepares this file: beside what the path leads to."""
    return _beside(path, ".tmp")


def previous(path: Path) -> Path:
    """Return where the previous copy of this file lies: beside what the path leads to."""
    return _beside(path, ".prev")


def write_durably(disk: Disk, path: Path, chunks: Iterable[bytes], *, keep_previous: bool) -> Written:
    """Replace the file at `path`; on return the new content survives a power cut.

    Args:
        disk: where to write.
        path: the file; a symbolic link is followed and stays.
        chunks: the content, in pieces of any size.
        keep_previous: the current file is good: it becomes the previous copy. False leaves the previous copy alone.

    Raises:
        OSError: the file holds its old content or, when only the last sync failed, perhaps the new one.
    """
    target, draft, kept = _target(path), temporary(path), previous(path)
    try:
        digest = _write_all(disk, draft, chunks)
        written = Written(_print(disk.stat(draft)), digest)
        kept_now = keep_previous and exists(disk, target)
        if kept_now:
            disk.rename(target, kept)
        try:
            disk.rename(draft, target)
        except OSError:
            if kept_now:
                with suppress(OSError):  # the previous copy stands in for it either way
                    disk.rename(kept, target)
            raise
    except BaseException:
        with suppress(OSError):  # a full disk wants the space back
            disk.unlink(draft)
        raise
    disk.sync_folder(target.parent)
    return written


def _write_all(disk: Disk, path: Path, chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    fd = disk.create(path)
    try:
        for block in _blocks(chunks):
            digest.update(block)
            disk.write(fd, block)
        disk.fsync(fd)
    except BaseException:
        with suppress(OSError):
            disk.close(fd)
        raise
    disk.close(fd)
    return digest.hexdigest()


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Gather small pieces, so that a file of one value a line is not a system call a line."""
    gathered: list[bytes] = []
    size = 0
    for chunk in chunks:
        gathered.append(chunk)
        size += len(chunk)
        if size >= limits.WRITE_BLOCK_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _beside(path: Path, suffix: str) -> Path:
    target = _target(path)
    return target.with_name(target.stem + suffix)


def _print(found: os.stat_result) -> Fingerprint:
    return Fingerprint(found.st_size, found.st_mtime_ns, found.st_ino)


def exists(disk: Disk, path: Path) -> bool:
    """Say whether the path leads to a file or folder. OSError when that cannot be known."""
    try:
        disk.stat(path)
    except FileNotFoundError:
        return False
    return True


def append_log(root: Path, name: str, line: bytes, *, disk: Disk) -> bool:
    """Append one line to `log/<name>`; past its limit the file first becomes `<name>.prev`.

    `name` is a key of LOG_LIMITS_BYTES. Returns whether the line was written, and raises nothing of the disk's: a log
    that cannot be written is no reason to fail a call. It reports to no logger, since that may be what calls it.
    """
    path = root / "log" / name
    entry = line if line.endswith(b"\n") else line + b"\n"
    try:
        size = disk.stat(path).st_size if exists(disk, path) else 0
        if size and size + len(entry) > LOG_LIMITS_BYTES[name]:
            disk.rename(path, path.with_name(name + ".prev"))
            size = 0
        fd = disk.append(path)
    except OSError:
        return False
    try:
        disk.write(fd, entry)
    except OSError:
        with suppress(OSError):  # else the next line would be glued to this one's beginning
            disk.truncate(fd, size)
        return False
    finally:
        with suppress(OSError):
            disk.close(fd)
    return True
