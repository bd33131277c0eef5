"""Checkpoints: memory to readable files, and the eye on what a person changes in them.

A part is written when it was quiet for a while or busy for long, never before the journal holds what it holds, and
never over a file that somebody changed: the changed file is read first and its differences become events. A file that
does not parse is left alone; its graph's checkpoints pause until it does, since the journal has everything.

Encoding a large graph is cut into slices on the loop; the disk work happens in a thread.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic

from kg.apply import TABLE
from kg.codec import graph_pieces, table_bytes
from kg.diff import Base, Edits, base_of, edits
from kg.errors import DocumentInvalid, NotSaved
from kg.graphfile import graph_meta, parse_graph
from kg.limits import ENCODE_SLICE, QUIET_SAVE_S
from kg.table import table_document
from kg.world import World
from supervisor.clock import now_iso
from supervisor.files import Disk, Fingerprint, Written, fingerprint, write_durably
from supervisor.journal import Journal
from supervisor.store import part_path

log = logging.getLogger("kg.files")


@dataclass(slots=True)
class _Dirt:
    """When a part first and last changed (monotonic seconds); `since`: the first event that its file lacks."""

    first_s: float
    last_s: float
    since: int


class Checkpoints:
    """Keeps the files of one storage folder up to date.

    Args:
        root: the storage folder.
        disk: where to write.
        world: the state; read only here.
        journal: what must hold a state before a file does.
        bases: per graph what its file holds.
        emit: appends one event of the service (`kg` or another writer) and applies it.
        save_interval_s: longest time that a change waits for its file.
    """

    def __init__(
        self,
        root: Path,
        *,
        disk: Disk,
        world: World,
        journal: Journal,  # type: ignore[type-arg]
        bases: dict[str, Base],
        emit: Callable[..., object],
        save_interval_s: float,
    ) -> None:
        self._root = root
        self._disk = disk
        self._world = world
        self._journal = journal
        self._bases = bases
        self._emit = emit
        self._interval_s = save_interval_s
        self._dirty: dict[str, _Dirt] = {}
        self._prints: dict[str, Fingerprint | None] = {
            key: fingerprint(part_path(root, key)) for key in (*world.graphs, TABLE)
        }
        self.foreign: dict[str, str] = {}  # graph key -> why its changed file could not be read
        self.failed: dict[str, str] = {}  # part -> why its last checkpoint failed
        self.conflicts: set[str] = set()  # graph/node that a person and an agent both changed
        self._writing = asyncio.Lock()

    @property
    def dirty(self) -> list[str]:
        """Parts whose file lags behind memory."""
        return sorted(self._dirty)

    @property
    def clean_seq(self) -> int:
        """Every graph's file holds all of that graph's events up to this seq."""
        return min((dirt.since - 1 for part, dirt in self._dirty.items() if part != TABLE), default=self._world.seq)

    def mark(self, keys: frozenset[str], seq: int) -> None:
        """Remember that these parts changed with the event of this seq."""
        now = monotonic()
        for key in keys:
            found = self._dirty.get(key)
            if found is None:
                self._dirty[key] = _Dirt(now, now, seq)
            else:
                found.last_s = now

    async def save_due(self) -> None:
        """Write the parts whose time has come."""
        now = monotonic()
        due = [
            key
            for key, dirt in self._dirty.items()
            if now - dirt.last_s >= QUIET_SAVE_S or now - dirt.first_s >= self._interval_s
        ]
        await self._save(due)

    async def save_all(self) -> None:
        """Write everything that is not written."""
        self.look()
        await self._save(list(self._dirty))

    async def _save(self, keys: list[str]) -> None:
        async with self._writing:
            for key in sorted(keys, key=lambda key: (key == TABLE, key)):
                try:
                    await self._write(key)
                    self.failed.pop(key, None)
                except (OSError, NotSaved) as error:
                    if self.failed.get(key) != str(error):
                        log.error("checkpoint of %s failed: %s; the journal has everything", key, error)
                    self.failed[key] = str(error)

    async def _write(self, key: str) -> None:
        if key in self.foreign or key in self._world.unreadable or (key != TABLE and not self._look_at(key)):
            return
        dirt = self._dirty.pop(key)
        base, pieces, seq = await self._encoded(key)
        try:
            await self._journal.synced(seq)
            written = await asyncio.to_thread(self._store, key, pieces)
        except BaseException:
            known = self._dirty.get(key)
            self._dirty[key] = dirt if known is None else _Dirt(dirt.first_s, known.last_s, dirt.since)
            raise
        self._prints[key] = written.fingerprint
        if base is not None:
            self._bases[key] = base
        self._emit("checkpoint_written", graph=key, holds=seq, sha256=written.sha256)

    async def _encoded(self, key: str) -> tuple[Base | None, list[bytes], int]:
        """Bytes of a part as of this moment; a graph is encoded from a snapshot, slice by slice."""
        if key == TABLE:
            clean = min(
                (dirt.since - 1 for part, dirt in self._dirty.items() if part != TABLE), default=self._world.seq
            )
            return None, [table_bytes(table_document(self._world, clean_seq=clean))], self._world.table_seq
        graph = self._world.graph(key)
        base, meta, seq = base_of(graph), graph_meta(graph), graph.seq
        nodes = [base.nodes[node_id] for node_id in sorted(base.nodes)]
        edges = [base.edges[edge_key] for edge_key in sorted(base.edges)]
        pieces: list[bytes] = []
        for number, piece in enumerate(graph_pieces(meta, nodes, edges), start=1):
            pieces.append(piece)
            if number % ENCODE_SLICE == 0:
                await asyncio.sleep(0)
        return base, pieces, seq

    def _store(self, key: str, pieces: list[bytes]) -> Written:
        path = part_path(self._root, key)
        if key.startswith("projects/") and not path.parent.exists():
            self._disk.make_folder(path.parent)
            self._disk.sync_folder(path.parent.parent)
        return write_durably(self._disk, path, pieces, keep_previous=self._prints.get(key) is not None)

    # --- a person's edits ------------------------------------------------------------------------------------

    def look(self) -> None:
        """Look whether somebody changed a file."""
        if self._writing.locked():  # between its two renames a file that kg writes is not there
            return
        for key in list(self._world.graphs):
            if key not in self._world.unreadable:
                self._look_at(key)

    def _look_at(self, key: str) -> bool:
        """Take over a changed file; False while its graph must not be written."""
        path = part_path(self._root, key)
        found = fingerprint(path)
        if found == self._prints.get(key):
            return key not in self.foreign
        if found is None:  # somebody moved it away: memory is what there is
            self._prints[key] = None
            self.mark(frozenset({key}), self._world.seq)
            return True
        try:
            data = self._disk.read(path)
            document = parse_graph(data)
        except (OSError, DocumentInvalid) as error:
            if self.foreign.get(key) != str(error):
                log.error("%s was changed and cannot be read: %s", path, error)
            self.foreign[key] = str(error)
            return False
        self.foreign.pop(key, None)
        self._prints[key] = found
        known = self._world.files.get(key)
        if known is None or known.sha256 != sha256(data).hexdigest():
            base = self._bases.get(key)
            graph = self._world.graph(key)
            self.take_edits(key, edits(self._world, graph, base or Base({}, {}, {}), document, now=now_iso()))
            self._bases[key] = Base(document.nodes, document.edges, document.progress)
            graph.extra = document.extra  # what a person keeps in meta belongs to the file, not to the log
        return True

    def take_edits(self, key: str, found: Edits) -> None:
        """Apply a person's changes as one batch by the writer `file`."""
        self.conflicts.update(f"{key}/{node_id}" for node_id in found.conflicts)
        if found.events:
            log.info("%s: %d changes by hand taken over", part_path(self._root, key), len(found.events))
            self._emit("batch", by="file", events=list(found.events))
