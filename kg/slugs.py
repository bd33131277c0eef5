"""Folder names for project graphs.

A project's slug is the name of its folder under `projects/` and the name that people see. It comes from the last part
of the project's root, which may hold anything that a file system allows, so everything but letters, digits and a few
harmless signs is replaced; the result can never climb out of a folder, hide itself or look like an option.
"""

import re
from collections.abc import Collection
from unicodedata import normalize

from kg import limits

_FOREIGN = re.compile(r"[^\w.-]+")
_NAMELESS = "project"


def slug_for(basename: str, taken: Collection[str]) -> str:
    """Return the slug of a project whose root is called `basename`; a number is added while another root has it.

    Slugs that differ only in case count as one, because some file systems think so.
    """
    base = _FOREIGN.sub("-", normalize("NFC", basename)).lstrip("-.")
    others = {_folded(slug) for slug in taken}
    slug = _cut(base, "") or _NAMELESS
    number = 1
    while _folded(slug) in others:
        number += 1
        slug = _cut(base or _NAMELESS, f"-{number}")
    return slug


def _cut(base: str, suffix: str) -> str:
    room = base[: limits.SLUG_MAX_CHARS - len(suffix)]
    while len((room + suffix).encode("utf-8")) > limits.SLUG_MAX_BYTES:
        room = room[:-1]
    return room + suffix


def _folded(slug: str) -> str:
    return normalize("NFC", slug.casefold())
