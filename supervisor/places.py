"""Which project a working folder belongs to (spec/storage.md section 11).

The root is, first that applies: what the client's KG_PROJECT_ROOT names; the nearest folder upward with a `.kgroot`
file; the git top level; the folder itself. The search upward ends below home and `/`, so that a repository of dotfiles
in home does not swallow every folder. Symbolic links are resolved first: each way to a folder finds the same project.

Git is read as files, since a hook asks this on every prompt: a `.git` folder marks a top level; a `.git` file belongs
to a linked worktree, whose project is that of the main checkout, or to a submodule, which is a project of its own. Git
itself is started only by `first_commit`, which recognises a folder that was moved.
"""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

from kg import limits
from kg.commands import Place

Marker = Literal[".kgroot", "git", "none"]

_CODEX_FOLDER = re.compile(r"/Documents/Codex/\d{4}-\d\d-\d\d/[^/]+")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_GIT_LINK = "gitdir:"
_SETTING = re.compile(r"(bare|worktree)\s*(?:=\s*(.*))?", re.IGNORECASE)


def resolve(
    cwd: str,
    *,
    project_root: str | None,
    home: Path,
    storage_root: Path,
    inside: Sequence[Path] = (),
    known: Collection[str] = (),
) -> Place:
    """Return the project of this working folder. Reads the disk; never raises for what a client sent.

    Args:
        cwd: the client's working folder, as it wrote it.
        project_root: the client's KG_PROJECT_ROOT, None or "" when it has none.
        home: the person's home folder.
        storage_root: kg's own folder, which is no project.
        inside: folders that projects must lie in; empty for no limit.
        known: roots that have a graph already; a throwaway folder of Codex among them is a project.
    """
    home = _real(home)
    note = None
    if project_root:
        written = str(home) + project_root[1:] if project_root == "~" or project_root[:2] == "~/" else project_root
        wrong = _wrong(written)
        if wrong is None:
            return _limited(_real(written), home, _real(storage_root), inside)
        note = f"KG_PROJECT_ROOT is not used: {wrong}."
    wrong = _wrong(cwd)
    if wrong is not None:
        return Place(None, note=_joined(note, f"No project: the working folder {wrong}."))
    root, marker = _root_of(_real(cwd), home)
    if _is_throwaway(root, marker) and str(root) not in known:
        return Place(None, note=note)
    place = _limited(root, home, _real(storage_root), inside)
    return Place(place.root, note=_joined(note, place.note))


def _wrong(path: str) -> str | None:
    """Return what keeps this from being a usable folder, as the rest of a sentence, or None."""
    if not path:
        return "was not given"
    name = "".join(sign if sign.isprintable() else "?" for sign in path[: limits.PLACE_NOTE_CHARS])
    if not path.startswith("/"):
        return f"{name} is a relative path, and kg cannot know where it begins"
    try:
        real = _real(path)
        str(real).encode("utf-8")
        mode = real.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"{name} does not exist"
    except PermissionError:
        return f"{name} may not be looked into"
    except (OSError, ValueError):  # too long, with a zero byte, or in no encoding that a reply could carry
        return f"{name} has a name that kg cannot use"
    return None if stat.S_ISDIR(mode) else f"{name} is not a folder"


def _limited(root: Path, home: Path, storage_root: Path, inside: Sequence[Path]) -> Place:
    if _is_nobodys(root, home) or root.is_relative_to(storage_root):
        return Place(None)
    if inside and not any(root.is_relative_to(_real(folder)) for folder in inside):
        return Place(None, note=f"No project: {root} lies outside the folders of the setting projects.inside.")
    return Place(str(root))


def _root_of(cwd: Path, home: Path) -> tuple[Path, Marker]:
    """Return the root, and what made it one."""
    upward = list(_upward(cwd, home))
    for folder in upward:
        if _is(stat.S_ISREG, folder / ".kgroot"):
            return folder, ".kgroot"
    for folder in upward:
        git = folder / ".git"
        if _is(stat.S_ISDIR, git):
            return folder, "git"
        if _is(stat.S_ISREG, git):
            main = _main_checkout(git)
            return (folder if main is None or _is_nobodys(main, home) else main), "git"
    return cwd, "none"


def _upward(folder: Path, home: Path) -> Iterator[Path]:
    while not _is_nobodys(folder, home):
        yield folder
        folder = folder.parent


def _is_nobodys(folder: Path, home: Path) -> bool:
    return folder in (home, Path("/"))


def _is_throwaway(root: Path, marker: Marker) -> bool:
    """Say whether this is a folder that Codex's desktop application made for one conversation, or lies in one.

    A repository cloned into such a folder is a project again, and a .kgroot file is always meant.
    """
    found = _CODEX_FOLDER.search(str(root))
    if found is None or marker == ".kgroot":
        return False
    return marker == "none" or found.end() == len(str(root))


def _main_checkout(git: Path) -> Path | None:
    """Return the main checkout that the worktree with this .git file belongs to.

    None for a submodule, for a worktree whose main repository is bare, and for one that git would not recognise.
    """
    link = _text(git).strip()
    if not link.startswith(_GIT_LINK):
        return None
    own = _real(git.parent / link.removeprefix(_GIT_LINK).strip())
    written = _text(own / "commondir").strip()
    if written:
        common = _real(own / written)
    elif own.parent.name == "worktrees" and not own.exists():  # removed, and this folder was left behind
        common = own.parent.parent
    else:
        return None
    settings = _core_settings(common)
    if settings.get("bare") == "true":
        return None
    if settings.get("worktree"):
        main = _real(common / settings["worktree"])
    elif common.name == ".git":
        main = common.parent
    else:
        return None
    return main if _wrong(str(main)) is None else None


def _core_settings(repository: Path) -> dict[str, str]:
    """Return `bare` and `worktree` of section [core], as far as git's simple spelling of them goes."""
    found: dict[str, str] = {}
    for name in ("config", "config.worktree"):
        section = ""
        for line in _text(repository / name).splitlines():
            entry = line.strip()
            if entry.startswith("["):
                section = entry[1:].partition("]")[0].strip().lower()
            elif section == "core" and (match := _SETTING.fullmatch(entry)):
                value = "true" if match[2] is None else match[2].strip().strip('"')
                found[match[1].lower()] = value.lower() if match[1].lower() == "bare" else value
    return found


def first_commit(root: Path) -> str | None:
    """Return the smallest id of the root commits of the repository at `root`; None when there is none to be had.

    Starts git, for at most FIRST_COMMIT_S seconds; it runs no hooks, takes no locks and asks nothing. A folder that is
    merely inside a repository has none: two such folders would look like one that moved.
    """
    git = shutil.which("git")
    if git is None or not (_is(stat.S_ISDIR, root / ".git") or _is(stat.S_ISREG, root / ".git")):
        return None
    command = [git, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", str(root)]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed argument list, no shell; root is one argument after -C
            [*command, "rev-list", "--max-parents=0", "HEAD"],
            env=_git_environment(root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limits.FIRST_COMMIT_S,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    ids = [line for line in done.stdout.decode("ascii", "replace").split() if _COMMIT.fullmatch(line)]
    return min(ids, default=None)


def _git_environment(root: Path) -> dict[str, str]:
    # Variables of a git that started us (a hook, an alias) would lead to another repository.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "LC_ALL": "C",
    }


def _real(path: Path | str) -> Path:
    return Path(os.path.realpath(path))


def _is(kind: Callable[[int], bool], path: Path) -> bool:
    try:
        return kind(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(limits.GIT_FILE_MAX_CHARS).replace("\0", "")
    except (OSError, ValueError):
        return ""


def _joined(first: str | None, second: str | None) -> str | None:
    return " ".join(part for part in (first, second) if part) or None
