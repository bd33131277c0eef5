"""From a working folder to a project: identity is the resolved root, never its basename."""

from kg.commands import Place
from kg.decide.draft import Draft
from kg.slugs import slug_for


def place_project(draft: Draft, place: Place) -> str:
    """Slug of the project at a place; a root that nobody registered gets one."""
    world = draft.world
    root = str(place.root)
    known = world.roots.get(root)
    if known is not None:
        return known
    if place.moved_slug in world.projects:
        moved = str(place.moved_slug)
        draft.emit("project_moved", slug=moved, root=root, was=world.projects[moved].root)
        return moved
    taken = {*world.projects, *(key.removeprefix("projects/") for key in (*world.graphs, *world.unreadable))}
    slug = slug_for(root.rstrip("/").rpartition("/")[2], taken)
    draft.emit("project_registered", slug=slug, root=root, first_commit=place.first_commit)
    return slug
