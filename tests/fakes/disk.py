"""A disk that fails, tears and forgets.

`FlakyDisk` works on real files through `RealDisk` and counts its changing operations, from 1. The ones that are told to
fail raise OSError: a write after having put down `torn` bytes, every other operation without any effect. With `lasting`
all later ones fail too, until `repair`.

`power_loss(folder)` leaves in the folder what a merciless medium would: names as of the last sync of the folder,
content as of the last good sync of each file, and zeros for bytes whose sync failed, even when a later sync was a
success; only bytes that were cut off and written again count as new. With `arrived` it is the other mercilessness: what
was written since the last good sync did arrive, and what was cut off after it did not go away.
"""

import errno
import os
from pathlib import Path

from supervisor.files import RealDisk


class FlakyDisk:
    def __init__(self, *, fail_at: int | None = None, code: int = errno.ENOSPC, torn: int = 0, lasting: bool = False):
        self.done: list[str] = []
        self._real = RealDisk()
        self._fail_at, self._code, self._torn, self._lasting = fail_at, code, torn, lasting
        self._names: dict[Path, dict[str, int]] = {}
        self._content: dict[int, bytes] = {}
        self._lost: dict[int, list[tuple[int, int]]] = {}
        self._uncut: dict[int, bytes] = {}

    @property
    def count(self) -> int:
        return len(self.done)

    def fail_next(self, *, code: int = errno.EIO, torn: int = 0, lasting: bool = False, after: int = 0) -> None:
        """Let the next operation fail, or the one `after` more."""
        self._fail_at, self._code, self._torn, self._lasting = self.count + 1 + after, code, torn, lasting

    def repair(self) -> None:
        self._fail_at = None

    def create(self, path: Path) -> int:
        return self._open("create", path)

    def append(self, path: Path) -> int:
        return self._open("append", path)

    def write(self, fd: int, data: bytes) -> None:
        if self._fails("write"):
            self._real.write(fd, data[: self._torn])
            raise self._error()
        self._real.write(fd, data)

    def fsync(self, fd: int) -> None:
        inode, size = os.fstat(fd).st_ino, os.fstat(fd).st_size
        if self._fails("fsync"):
            self._lost.setdefault(inode, []).append((len(self._content[inode]), size))
            raise self._error()
        self._real.fsync(fd)
        content = bytearray(_bytes_of(fd))
        for begin, end in self._lost.get(inode, ()):
            content[begin:end] = bytes(len(content[begin:end]))
        self._content[inode] = bytes(content)
        self._uncut.pop(inode, None)

    def truncate(self, fd: int, size: int) -> None:
        self._step("truncate")
        inode = os.fstat(fd).st_ino
        self._uncut.setdefault(inode, _bytes_of(fd))
        self._real.truncate(fd, size)
        # What is written there later is new to the kernel; it is the old pages that are lost.
        self._lost[inode] = [(begin, min(end, size)) for begin, end in self._lost.get(inode, ()) if begin < size]

    def close(self, fd: int) -> None:
        self._real.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        self._learn(target.parent)
        self._step("rename", source)
        self._real.rename(source, target)

    def unlink(self, path: Path) -> None:
        self._learn(path.parent)
        self._step("unlink", path)
        self._real.unlink(path)

    def make_folder(self, path: Path) -> None:
        self._step("make_folder", path)
        self._real.make_folder(path)

    def sync_folder(self, path: Path) -> None:
        self._learn(path)
        self._step("sync_folder", path)
        self._real.sync_folder(path)
        self._names[path] = _files(path)

    def read(self, path: Path) -> bytes:
        return self._real.read(path)

    def stat(self, path: Path) -> os.stat_result:
        return self._real.stat(path)

    def power_loss(self, folder: Path, *, arrived: bool = False) -> None:
        self._learn(folder)
        content = dict(self._content)
        for name, inode in _files(folder).items():
            if arrived:
                content[inode] = self._uncut.get(inode, (folder / name).read_bytes())
            (folder / name).unlink()
        for name, inode in self._names[folder].items():
            (folder / name).write_bytes(content[inode])

    def _open(self, kind: str, path: Path) -> int:
        self._learn(path.parent)
        self._step(kind, path)
        fresh = not path.exists()
        fd = getattr(self._real, kind)(path)
        inode = os.fstat(fd).st_ino
        if fresh:  # the file system may have given it the number of a file that is gone
            self._content[inode] = b""
            self._uncut.pop(inode, None)
        if fresh or kind == "create":
            self._lost.pop(inode, None)
        return fd

    def _learn(self, folder: Path) -> None:
        """Take what a folder holds at its first use for durable."""
        if folder in self._names:
            return
        self._names[folder] = _files(folder)
        for name, inode in self._names[folder].items():
            self._content.setdefault(inode, (folder / name).read_bytes())

    def _step(self, name: str, path: Path | None = None) -> None:
        if self._fails(name):
            raise self._error(path)

    def _fails(self, name: str) -> bool:
        self.done.append(name)
        if self._fail_at is None:
            return False
        return self.count == self._fail_at or (self._lasting and self.count > self._fail_at)

    def _error(self, path: Path | None = None) -> OSError:
        # As the kernel does: what works on a descriptor knows no name.
        return OSError(self._code, os.strerror(self._code), *([] if path is None else [str(path)]))


def _bytes_of(fd: int) -> bytes:
    return Path(f"/proc/self/fd/{fd}").read_bytes()


def _files(folder: Path) -> dict[str, int]:
    return {entry.name: entry.stat().st_ino for entry in folder.iterdir() if entry.is_file()}
