"""From files to memory: loading a storage folder, and what to do about each damaged file (spec/storage.md section 6).

Loading is: read every part (a graph file or sessions.json; else its `.prev`), then let the journal's later events run
through `kg.apply`, which changes exactly the parts that lack them. A file whose bytes are not the ones that kg last
wrote was edited meanwhile: the state it was made from is rebuilt from `.prev` and the journal, and the differences
become events. Nothing is ever taken for empty that was there before.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from kg.apply import TABLE, apply
from kg.codec import event_from_line, from_json
from kg.delivery import Outbox
from kg.diff import Base, base_of
from kg.errors import DocumentInvalid, JournalDamaged, StorageUnreadable
from kg.events import Event
from kg.graph import Graph
from kg.graphfile import GraphDocument, parse_graph
from kg.limits import LOG_LOOK_BACK
from kg.table import load_table
from kg.world import World
from supervisor.files import Disk, previous
from supervisor.journal import Journal

log = logging.getLogger("kg.store")

ALWAYS = ("user", "maintain")
MISSING = "the file is missing"


@dataclass(slots=True)
class Loaded:
    """A folder in memory.

    Attributes:
        world: the state.
        bases: per graph what its file holds, for the comparison with a later edit.
        edited: graphs whose file was changed while no owner ran, with that file and the state it was made from
            (None: that cannot be told, so everything in it counts as new).
        recovered: one sentence per file that was taken from its previous copy.
        unrooted: graphs without a registered root, with the root that their file names.
    """

    world: World
    bases: dict[str, Base] = field(default_factory=dict)
    edited: dict[str, tuple[GraphDocument, Base | None]] = field(default_factory=dict)
    recovered: list[str] = field(default_factory=list)
    unrooted: dict[str, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Part:
    """One graph file as found."""

    key: str
    path: Path
    document: GraphDocument | None = None
    digest: str | None = None
    kept: GraphDocument | None = None
    cause: str | None = None


def part_path(root: Path, key: str) -> Path:
    """File of a part: a graph key or the table."""
    return root / key / "graph.json" if key.startswith("projects/") else root / f"{key}.json"


def new_journal(root: Path, disk: Disk) -> Journal[Event]:
    """The journal of a storage folder."""
    return Journal(root / "journal", disk=disk, decode=event_from_line)


def load(root: Path, *, disk: Disk, journal: Journal[Event], nonce: str) -> Loaded:
    """Read a storage folder; the caller holds the owner lock.

    Args:
        root: the storage folder.
        disk: where to read, and where a damaged file is set aside.
        journal: its log, not yet loaded.
        nonce: makes the ids of this owner's deliveries differ from any other's.

    Raises:
        StorageUnreadable: the user or the maintain graph is there but cannot be read.
        JournalDamaged: the log has a line that cannot be read.
    """
    loaded = Loaded(World(Outbox(nonce)))
    world = loaded.world
    clean_seq = _load_table(loaded, root, disk)
    parts = [_read_part(loaded, disk, root, key) for key in _keys(root, world)]
    events = _events(journal, parts, world, clean_seq)
    written = {key: at.sha256 for key, at in world.files.items()}
    written |= {str(e.body["graph"]): str(e.body["sha256"]) for e in events if e.kind == "checkpoint_written"}
    for part in parts:
        _install(loaded, part, disk, written=written, events=events)
    known_from = events[0].seq - 1 if events else journal.last_seq
    for graph in world.graphs.values():
        graph.changes_from = known_from
    for event in events:
        _replay(world, event)
    world.seq = max(journal.last_seq, world.table_seq, *(graph.seq for graph in world.graphs.values()))
    for key, graph in world.graphs.items():
        loaded.bases.setdefault(key, base_of(graph))
        next(graph.newest_first(), None)  # sorted once, here
        slug = graph.slug
        if slug is not None and slug not in world.projects:
            loaded.unrooted[slug] = graph.root
    return loaded


def _keys(root: Path, world: World) -> list[str]:
    folders = (path.name for path in (root / "projects").iterdir() if path.is_dir())
    slugs = {*folders, *world.projects}
    return [*ALWAYS, *(f"projects/{slug}" for slug in sorted(slugs))]


# --- reading files -----------------------------------------------------------------------------------------------


def _load_table(loaded: Loaded, root: Path, disk: Disk) -> int:
    """Read sessions.json; without it kg starts without sessions. Returns up to where every graph file is complete."""
    path = part_path(root, TABLE)
    for candidate in (path, previous(path)):
        try:
            document = from_json(disk.read(candidate))
            load_table(loaded.world, document)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            log.warning("%s cannot be read (%s); trying the previous copy", candidate, error)
            if candidate == path:
                _set_aside(disk, path)
            continue
        if candidate != path:
            loaded.recovered.append(f"{path} was recovered from {candidate.name}")
        return int(document["meta"].get("clean_seq", 0))
    return 0


def _read_part(loaded: Loaded, disk: Disk, root: Path, key: str) -> _Part:
    part = _Part(key, part_path(root, key))
    known = loaded.world.files.get(key)
    try:
        data = disk.read(part.path)
        part.digest = sha256(data).hexdigest()
        part.document = parse_graph(data, ours=known is not None and known.sha256 == part.digest)
    except FileNotFoundError:
        part.cause = MISSING
    except (OSError, DocumentInvalid) as error:
        part.cause = str(error)
    if part.document is None or known is None or known.sha256 != part.digest:
        part.kept = _read_previous(disk, part)
    return part


def _read_previous(disk: Disk, part: _Part) -> GraphDocument | None:
    try:
        return parse_graph(disk.read(previous(part.path)))
    except (OSError, DocumentInvalid):
        return None


def _set_aside(disk: Disk, path: Path) -> None:
    """Keep a damaged file under a name of its own, never over the previous copy."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    try:
        disk.rename(path, path.with_name(f"{path.stem}.bad-{stamp}"))
    except OSError as error:
        log.warning("%s could not be set aside: %s", path, error)


# --- events ------------------------------------------------------------------------------------------------------


def _events(journal: Journal[Event], parts: Iterable[_Part], world: World, clean_seq: int) -> list[Event]:
    """The log from where it is needed: by a part that lacks events, by a file that was edited, by kg_sync."""
    after = min(clean_seq, world.table_seq) if clean_seq else 0
    for part in parts:
        known = world.files.get(part.key)
        if part.kept is not None:
            after = min(after, part.kept.seq)
        elif part.document is None:
            after = 0  # only a log that reaches back to the beginning can bring this graph back
        if part.document is not None and (known is None or known.sha256 != part.digest):
            after = min(after, part.document.seq if part.kept is not None else 0)
    return list(journal.load(max(0, min(after, world.table_seq - LOG_LOOK_BACK))))


def _replay(world: World, event: Event) -> None:
    try:
        apply(world, event)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, DocumentInvalid) as error:
        raise JournalDamaged(
            "journal", event.seq, f"event {event.seq} ({event.kind}) cannot be applied: {error!r}"
        ) from error


# --- installing graphs -------------------------------------------------------------------------------------------


def _install(loaded: Loaded, part: _Part, disk: Disk, *, written: dict[str, str], events: list[Event]) -> None:
    """Put one graph into the world, from the best source that there is."""
    world = loaded.world
    if part.document is not None:
        if written.get(part.key) in {None, part.digest}:
            _fill(world, part.key, part.document)
        else:
            _install_edited(loaded, part, events)
        return
    if part.cause == MISSING and part.key not in written and part.kept is None:
        world.graph(part.key)  # nobody ever wrote it: it starts empty
        return
    source, origin = part.kept, "its previous copy and the journal"
    if source is None and events and events[0].seq == 1:
        source, origin = GraphDocument(0, None, {}, {}), "the journal, which reaches back to its beginning"
    if source is None:
        _give_up(world, part)
        return
    if part.path.exists():
        log.error("%s: %s", part.path, part.cause)
        _set_aside(disk, part.path)
    loaded.recovered.append(f"{part.path} was recovered from {origin}: {part.cause}")
    _fill(world, part.key, source)


def _give_up(world: World, part: _Part) -> None:
    cause = part.cause or "unknown"
    if part.key in ALWAYS:
        _stop(part.path, cause)
    log.error("graph %s is unreadable: %s: %s", part.key, part.path, cause)
    world.unreadable[part.key] = f"{part.path}: {cause}"


def _stop(path: Path, cause: str) -> NoReturn:
    raise StorageUnreadable(str(path), cause)


def _fill(world: World, key: str, document: GraphDocument) -> Graph:
    graph = world.graph(key)
    graph.seq = document.seq
    graph.root = document.root
    graph.progress = dict(document.progress)
    graph.extra = document.extra
    for node in document.nodes.values():
        if max(node.content_seq, node.created_seq) > document.seq:  # a person's number: nothing may run ahead
            low = min(node.content_seq, document.seq), min(node.created_seq, document.seq)
            node = replace(node, content_seq=low[0], created_seq=low[1])  # noqa: PLW2901
        graph.put_node(node)
    for edge in document.edges.values():
        graph.put_edge(replace(edge, seq=document.seq) if edge.seq > document.seq else edge)
    return graph


def _install_edited(loaded: Loaded, part: _Part, events: list[Event]) -> None:
    """A file that was changed while no owner ran: start from what it was made of, its differences come later."""
    document = part.document
    if document is None:
        return
    if events and document.seq > events[-1].seq:  # a number that was edited must not run ahead of the log
        document = replace(document, seq=events[-1].seq)
    base = _rebuilt(part, document.seq, events)
    if base is None:
        _fill(loaded.world, part.key, document)
        loaded.edited[part.key] = (document, None)
        return
    graph = _fill(loaded.world, part.key, base)
    loaded.edited[part.key] = (document, base_of(graph))
    loaded.bases[part.key] = base_of(graph)


def _rebuilt(part: _Part, seq: int, events: list[Event]) -> GraphDocument | None:
    """The graph as of `seq`, from the previous copy (or nothing) and the log since; None when that does not reach."""
    kept = part.kept or GraphDocument(0, None, {}, {})
    if kept.seq > seq:
        return None
    between = [event for event in events if kept.seq < event.seq <= seq]
    if seq > kept.seq and (not events or events[0].seq > kept.seq + 1):
        return None
    scratch = World(Outbox(""))
    graph = _fill(scratch, part.key, kept)
    for event in between:
        apply(scratch, event)
    return GraphDocument(
        max(graph.seq, seq), graph.root, dict(graph.nodes), dict(graph.edges), dict(graph.progress), graph.extra
    )
