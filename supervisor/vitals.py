"""The state of the service as one JSON object (spec/operations.md section 6), and whether it is well.

Reading it costs little: known pids only, memory figures cached, nothing that grows with the graphs but their number.
"""

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kg.events import Event
from kg.limits import LEVEL_BUDGET_CHARS
from kg.rpc import LEGACY_VERSIONS, MODERN_VERSIONS
from supervisor.checkpoints import Checkpoints
from supervisor.health import Processes
from supervisor.journal import Journal
from supervisor.owner import Owner
from supervisor.planning import Planning
from supervisor.pool import Pool
from supervisor.schedule import Schedule
from supervisor.settings import Settings


@dataclass(slots=True)
class Vitals:
    """Collects the report from the parts of one service."""

    owner: Owner
    journal: Journal[Event]
    checkpoints: Checkpoints
    pool: Pool
    schedule: Schedule
    planning: Planning
    processes: Processes
    root: Path
    version: str
    supervisor_pid: int
    settings: Settings
    recovered: tuple[str, ...] = ()
    opened_s: float = field(default_factory=time.monotonic)

    def report(self) -> Mapping[str, object]:
        """The whole report."""
        problems = self.problems()
        return {
            "status": "degraded" if problems else "ok",
            "version": self.version,
            "uptime_s": round(time.monotonic() - self.opened_s, 1),
            "root": str(self.root),
            "protocols": [*LEGACY_VERSIONS, *MODERN_VERSIONS],
            "processes": [asdict(reading) for reading in self.processes.read(self._roles())],
            "tasks": [asdict(task) for task in self.schedule.tasks()],
            "journal": self._journal(),
            "graphs": self._graphs(),
            "pool": {**self.pool.status(), "plans": self.planning.status()},
            "sessions": dict(Counter(session.harness for session in self.owner.world.sessions.values())),
            "deliveries": {"open": len(self.owner.world.pending), "unacknowledged": len(self.owner.world.outbox)},
            "recovered": list(self.recovered),
            "problems": problems,
        }

    def _roles(self) -> list[tuple[str, int]]:
        workers = [("worker", pid) for pid in self.pool.pids()]
        return [("supervisor", self.supervisor_pid), ("owner", os.getpid()), *workers]

    def _journal(self) -> Mapping[str, object]:
        journal = self.journal
        return {
            "seq": journal.last_seq,
            "synced_seq": journal.synced_seq,
            "unsaved_events": journal.unsaved_count,
            "segments": journal.segments,
            "bytes": journal.size_bytes,
            "last_sync_ms": round(journal.last_sync_ms, 3),
        }

    def _graphs(self) -> Mapping[str, object]:
        world = self.owner.world
        unreadable = world.unreadable | self.checkpoints.foreign
        return {
            "loaded": len(world.graphs),
            "dirty": self.checkpoints.dirty,
            "unreadable": [{"slug": key, "cause": cause} for key, cause in sorted(unreadable.items())],
            "levels": [
                {
                    "graph": key, "size": graph.size, "budget": LEVEL_BUDGET_CHARS, "edges": len(graph.edges),
                    **graph.counts,
                }
                for key, graph in sorted(world.graphs.items())
            ],
        }  # fmt: skip

    def problems(self) -> list[str]:
        """One sentence for each thing that is wrong, with what to do."""
        found = list(self.settings.problems)
        if self.journal.unsaved_count:
            found.append(
                f"{self.journal.unsaved_count} events are not saved: {self.journal.last_error}. They are kept in memory"
                f" and retried every second: make room on the disk of {self.root}, or make it writable."
            )
        found += [
            f"{key} is not checkpointed: {cause}. The journal has everything; kg tries again by itself."
            for key, cause in sorted(self.checkpoints.failed.items())
        ]
        found += [
            f"{key} was changed by hand and cannot be read: {cause}"
            for key, cause in sorted(self.checkpoints.foreign.items())
        ]
        found += [
            f"{key} cannot be read: {cause}. Repair it and restart kg."
            for key, cause in sorted(self.owner.world.unreadable.items())
        ]
        found += [
            f"{what} was changed by hand and by an agent at once: the file won, the log keeps the other."
            for what in sorted(self.checkpoints.conflicts)
        ]
        return found + self.schedule.problems(time.monotonic()) + self.planning.problems()
