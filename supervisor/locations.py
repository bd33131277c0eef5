"""From a client's working folder to a place: the disk's part of project identity, off the loop where it may be slow."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kg.commands import Place
from kg.world import World
from supervisor.places import first_commit, resolve


class Locator:
    """Resolves working folders.

    Args:
        home: the person's home, which is no project.
        storage_root: kg's own folder, neither.
        inside: folders in which projects must lie; empty for no limit.
    """

    def __init__(self, *, home: Path, storage_root: Path, inside: Sequence[Path] = ()) -> None:
        self._home = home
        self._storage_root = storage_root
        self._inside = tuple(inside)

    async def locate(self, world: World, cwd: str, project_root: str | None) -> Place:
        """The project of a folder; for a root that is new, also its first commit and the graph that it brings along."""
        place = await asyncio.to_thread(
            resolve, cwd, project_root=project_root, home=self._home, storage_root=self._storage_root,
            inside=self._inside, known=frozenset(world.roots),
        )  # fmt: skip
        root = place.root
        if root is None or root in world.roots:
            return place
        commit = await asyncio.to_thread(first_commit, Path(root))
        place = replace(place, first_commit=commit)
        moved = [
            project.slug
            for project in world.projects.values()
            if _moved_here(Path(project.root), Path(root), same=commit is not None and project.first_commit == commit)
        ]
        if len(moved) != 1:
            return place
        old = world.projects[moved[0]].root
        note = f"this folder was {old}; its memory moved along."
        return replace(place, moved_slug=moved[0], note=" ".join(filter(None, (place.note, note))))


def _moved_here(old: Path, new: Path, *, same: bool) -> bool:
    """Whether a registered root is gone and this one is what became of it."""
    if old.is_symlink() and old.resolve() == new:
        return True
    return same and not old.exists()
