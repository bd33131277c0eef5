"""The owner's life: take the lock, load, serve, and leave everything on disk.

`Service` is made in the web worker and runs as the lifespan of its application. Starting is: wait for the owner lock
(the owner before may still be draining), load the folder, open a new journal segment, put right what the rules ask
for. Ending is the same backwards, and each step is safe to be killed in, since every acknowledged event is in the
journal already.
"""

import asyncio
import gc
import json
import logging
import secrets
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from kg.diff import Base, edits
from kg.errors import JournalDamaged, StorageUnreadable
from kg.events import Event
from kg.graphfile import GraphDocument
from kg.limits import (
    COLLECTOR_THRESHOLDS,
    COMPACTION_TICK_S,
    EXPIRE_TICK_S,
    KEEP_TICK_S,
    OWNER_LOCK_WAIT_S,
    SAVE_TICK_S,
    THREAD_SWITCH_S,
    WATCH_TICK_S,
)
from kg.tokens import tokens
from kg.upkeep import dangling_edges, healed_nodes, recurrences
from supervisor.checkpoints import Checkpoints
from supervisor.clock import now_iso
from supervisor.files import Disk, write_durably
from supervisor.health import Processes
from supervisor.journal import Journal
from supervisor.locations import Locator
from supervisor.locks import FolderLock, LockImpossible
from supervisor.owner import Owner
from supervisor.planning import Planning
from supervisor.pool import Pool
from supervisor.schedule import Schedule
from supervisor.settings import Settings
from supervisor.store import Loaded, load, new_journal
from supervisor.vitals import Vitals

log = logging.getLogger("kg.service")

START_ERROR = Path("run/start-error.json")
EXIT_UNREADABLE = 4  # exit code: the storage cannot be read


class StartRefused(Exception):  # noqa: N818 - an answer to whoever starts
    """The service cannot start. `status` is the exit code."""

    def __init__(self, cause: str, *, status: int = 1) -> None:
        super().__init__(cause)
        self.status = status


class Service:
    """One owner, from lock to lock. `owner` is there once `start` has returned."""

    def __init__(self, root: Path, *, disk: Disk, settings: Settings, supervisor_pid: int, version: str) -> None:
        self._root = root
        self._disk = disk
        self._settings = settings
        self._version = version
        self._supervisor_pid = supervisor_pid
        self._lock = FolderLock(root / "locks" / "owner")
        self._journal: Journal[Event] = new_journal(root, disk)
        self._pool = Pool(workers=settings.workers)
        self._schedule = Schedule()
        self._checkpoints: Checkpoints | None = None
        self._planning: Planning | None = None
        self._owner: Owner | None = None
        self._scheduling: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[list[str]] | None = None

    @property
    def owner(self) -> Owner:
        """The memory that this service serves."""
        if self._owner is None:
            raise RuntimeError("the service has not started")
        return self._owner

    async def start(self) -> None:
        """Load the folder and begin.

        Raises:
            StartRefused: with the cause, which also stands in run/start-error.json.
        """
        try:
            await self._start()
        except StartRefused as error:
            write_start_error(self._root, str(error), status=error.status, disk=self._disk)
            raise

    async def _start(self) -> None:
        try:
            if not await self._lock.acquire_async(within_s=OWNER_LOCK_WAIT_S):
                raise StartRefused(f"another process still holds {self._root}; end it or wait, then start again")
            loaded = load(self._root, disk=self._disk, journal=self._journal, nonce=secrets.token_hex(4))
            self._journal.open_segment(loaded.world.seq + 1)
        except LockImpossible as error:
            raise StartRefused(str(error)) from error
        except (StorageUnreadable, JournalDamaged) as error:
            raise StartRefused(str(error), status=EXIT_UNREADABLE) from error
        except OSError as error:
            raise StartRefused(f"{self._root} cannot be used: {error}. KG_STORAGE names another folder.") from error
        for sentence in loaded.recovered:
            log.warning("%s", sentence)
        self._assemble(loaded)
        self._put_right(loaded)
        gc.collect()
        gc.freeze()  # what was loaded lives as long as the process: no later collection has to walk over it
        gc.set_threshold(*COLLECTOR_THRESHOLDS)
        sys.setswitchinterval(THREAD_SWITCH_S)
        (self._root / START_ERROR).unlink(missing_ok=True)
        # Off the way to the first answer, and off the loop: both import what takes long.
        self._scheduling = asyncio.create_task(self._schedule.start())
        self._warming = asyncio.create_task(asyncio.to_thread(tokens, "first word"))

    def _assemble(self, loaded: Loaded) -> None:
        world = loaded.world
        locator = Locator(home=Path.home(), storage_root=self._root, inside=self._settings.inside)
        owner = Owner(world, journal=self._journal, root=self._root, disk=self._disk, locator=locator)
        checkpoints = Checkpoints(
            self._root, disk=self._disk, world=world, journal=self._journal, bases=loaded.bases, emit=owner.emit,
            save_interval_s=self._settings.save_interval_s,
        )  # fmt: skip
        planning = Planning(owner, pool=self._pool, grace_days=self._settings.orphan_grace_days)
        owner.on_changed.append(checkpoints.mark)
        owner.on_planned = planning.ask
        vitals = Vitals(
            owner=owner, journal=self._journal, checkpoints=checkpoints, pool=self._pool, schedule=self._schedule,
            planning=planning, processes=Processes(), root=self._root, version=self._version,
            supervisor_pid=self._supervisor_pid, settings=self._settings, recovered=tuple(loaded.recovered),
        )  # fmt: skip
        owner.health_of = vitals.report
        self._owner, self._checkpoints, self._planning = owner, checkpoints, planning
        self._schedule.add("checkpoints", SAVE_TICK_S, checkpoints.save_due)
        self._schedule.add("watch", WATCH_TICK_S, self._watch)
        self._schedule.add("compaction", COMPACTION_TICK_S, planning.tick)
        self._schedule.add("sessions", EXPIRE_TICK_S, owner.expire_sessions)
        self._schedule.add("journal", KEEP_TICK_S, self._drop_old)

    def _put_right(self, loaded: Loaded) -> None:
        """What was edited while nobody ran, then the rules of spec/storage.md section 6, step 6."""
        owner, world = self.owner, loaded.world
        for slug, root in sorted(loaded.unrooted.items()):
            if root is not None and f"projects/{slug}" not in world.unreadable:
                owner.emit("graph_adopted", slug=slug, root=root)
        for key, (document, base) in sorted(loaded.edited.items()):
            self._take_edits(key, document, base)
        owner.emit_all(list(healed_nodes(world)))
        owner.emit_all(list(dangling_edges(world, kept_from=self._journal.first_seq or 1)))
        owner.emit_all(list(recurrences(world)))

    def _take_edits(self, key: str, document: GraphDocument, base: Base | None) -> None:
        if self._checkpoints is None:
            return
        world = self.owner.world
        graph = world.graph(key)
        if base is not None:
            self._checkpoints.take_edits(key, edits(world, graph, base, document, now=now_iso()))
            return
        # Nobody can tell what was changed: all of it counts as new, so every session has to read it again.
        self.owner.emit_all(
            [
                {
                    "kind": "node_put",
                    "graph": key,
                    "id": node.id,
                    "set": {"gist": node.gist},
                    "was": {"gist": node.gist},
                }
                for node in graph.nodes.values()
            ],
            by="file",
        )

    async def _watch(self) -> None:
        if self._checkpoints is not None:
            self._checkpoints.look()

    async def _drop_old(self) -> None:
        if self._checkpoints is not None:
            clean_seq = min(self._checkpoints.clean_seq, self.owner.world.table_seq)
            await asyncio.to_thread(
                self._journal.drop_old, clean_seq, time.time(), days=self._settings.history_days,
                mib=self._settings.history_mib,
            )  # fmt: skip

    async def stop(self) -> None:
        """Leave everything on disk and give the folder back. Calling it twice is fine."""
        if self._scheduling is not None and self._warming is not None:
            await self._scheduling
            await self._warming
        await self._schedule.stop()
        if self._planning is not None:
            await self._planning.close()
        await self._pool.close()
        if self._checkpoints is not None:
            await self._checkpoints.save_all()
        await self._journal.close()
        if self._journal.unsaved_count:
            log.error("%d events could not be saved: %s", self._journal.unsaved_count, self._journal.last_error)
        self._lock.release()


def write_start_error(root: Path, cause: str, *, status: int, disk: Disk) -> None:
    """Leave word why a start failed, for whoever waits for it."""
    record = {"time": time.time(), "cause": cause, "log": str(root / "log" / "server.log"), "status": status}
    try:
        write_durably(disk, root / START_ERROR, [json.dumps(record).encode()], keep_previous=False)
    except OSError:
        log.exception("the cause of the failed start could not be written down")


def read_start_error(root: Path) -> tuple[str, int] | None:
    """Cause and exit code of the start that failed last, None when the last one served."""
    try:
        record: Mapping[str, object] = json.loads((root / START_ERROR).read_text(encoding="utf-8"))
        return str(record["cause"]), int(str(record["status"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
