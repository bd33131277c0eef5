"""The storage folder itself: its tree, the block in .gitignore, the token and the name of the socket.

`prepare_root` runs before anything else is written, and stops the start with one sentence that names the path, the
cause and KG_STORAGE when the folder cannot be used. It makes what is missing, parents too, for its owner alone.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kg import limits
from shim.root import RootError
from supervisor.files import FOLDER_MODE, Disk, exists, write_durably

FOLDERS = ("projects", "journal", "locks", "run", "log")
IGNORE_BEGIN = b"# kg begin (kg keeps the lines down to the end mark)"
IGNORE_END = b"# kg end"
IGNORED = (b"run/", b"log/", b"locks/", b"journal/", b"*.prev", b"*.tmp", b"*.sock")
_TOKEN = re.compile(rb"[0-9a-f]{64}")


def prepare_root(root: Path, *, disk: Disk) -> None:
    """Make the storage folder with everything it holds before the first write. A second call changes nothing.

    A folder that was there before and holds other things keeps its mode: what kg puts into it is closed anyway.

    Raises:
        RootError: the path is relative, leads to something that is no folder, or cannot be written.
    """
    if not root.is_absolute():
        raise RootError(
            f"KG_STORAGE is the relative path {str(root)!r}, which means another folder in every process. "
            f"Write the absolute path: {Path.cwd() / root}"
        )
    with _refusing(root):
        _make_tree(disk, root)
        if not _may_write(root):
            raise PermissionError(errno.EACCES, "no right to write there", str(root))
        for name in FOLDERS:
            _make_tree(disk, root / name)
        _keep_ignore_block(disk, root / ".gitignore")
        if stat.S_IMODE(root.stat().st_mode) != FOLDER_MODE and _holds_only_ours(root):
            with suppress(PermissionError):  # a folder that another user lends
                root.chmod(FOLDER_MODE)


@contextmanager
def _refusing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or root
        raise RootError(
            f"kg cannot keep its memory in {root}: {where}: {error.strerror or error}. "
            "Repair that, or set KG_STORAGE to a folder that you can write."
        ) from error


def _make_tree(disk: Disk, folder: Path) -> None:
    if folder.is_dir():
        return
    if folder.is_symlink() and not folder.exists():
        raise FileNotFoundError(errno.ENOENT, "a symbolic link that leads nowhere", str(folder))
    if folder.exists():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(folder))
    _make_tree(disk, folder.parent)
    with suppress(FileExistsError):  # somebody else was quicker, or a file is there: the next use tells
        disk.make_folder(folder)
    disk.sync_folder(folder.parent)


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _holds_only_ours(root: Path) -> bool:
    ours = {*FOLDERS, ".gitignore", ".git", "config.toml"}
    return all(entry.name in ours or entry.suffix in {".json", ".prev", ".tmp"} for entry in root.iterdir())


def _keep_ignore_block(disk: Disk, path: Path) -> None:
    """Put kg's lines into .gitignore, between two marks; every other byte stays as it is."""
    old = disk.read(path) if path.exists() else b""
    block = b"\n".join((IGNORE_BEGIN, *IGNORED, IGNORE_END))
    begin = old.find(IGNORE_BEGIN)
    end = old.find(IGNORE_END, begin)
    if begin < 0 or end < 0:
        new = old + (b"\n" if old and not old.endswith(b"\n") else b"") + block + b"\n"
    else:
        new = old[:begin] + block + old[end + len(IGNORE_END) :]
    if new != old:
        write_durably(disk, path, [new], keep_previous=False)


def load_token(root: Path, *, disk: Disk) -> str:
    """Return the token that HTTP clients present, 64 hex digits; made at the first use.

    One that is torn, or that others could have read, is replaced.

    Raises:
        OSError: it can neither be read nor written.
    """
    path = root / "run" / "token"
    if exists(disk, path) and not disk.stat(path).st_mode & 0o077:
        kept = disk.read(path).strip()
        if _TOKEN.fullmatch(kept):
            return kept.decode("ascii")
    token = secrets.token_hex(limits.TOKEN_BYTES)
    write_durably(disk, path, [token.encode("ascii"), b"\n"], keep_previous=False)
    return token


def socket_path(root: Path, *, runtime_dir: str | None) -> Path:
    """Return where the service on this root listens; the folder may be missing, and whoever binds checks its owner.

    Args:
        root: the storage root; links in it are followed, so that each way to it finds the same service.
        runtime_dir: value of XDG_RUNTIME_DIR, None when unset. A relative one counts as unset, as its standard asks.
    """
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[: limits.SOCKET_NAME_HEX] + ".sock"
    if runtime_dir and runtime_dir.startswith("/"):
        path = Path(runtime_dir, "kg", name)
        if len(os.fsencode(path)) <= limits.SOCKET_PATH_MAX_BYTES:
            return path
    return Path(f"/tmp/kg-{os.getuid()}", name)  # noqa: S108 - its folder is checked before anything binds there
