"""What the owner still accepts of a plan, on the state of this moment (spec/compaction.md section 6).

A graph that nobody has changed takes the plan whole, if it comes to the size that was planned. Else every move is
checked in turn against a `WhatIf` of the graph, in the order of the run: first the archiving that other moves rest on,
then the rest. A node that went, moved on, changed, was locked or became fresh meanwhile keeps its place; half a swap is
none; no refill leads above the ceiling and no swap above the budget. Nothing here changes the graph: the result is
event bodies.

After an import nearly every node moves. Such a plan is admitted in steps, each an event of its own and valid by itself,
so that the owner's loop has a turn between them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from kg.compaction import overdue
from kg.documents import edge_document, node_document
from kg.events import Body
from kg.fresh import fresh_ids
from kg.graph import Graph, Node
from kg.limits import LEVEL_BUDGET_CHARS, MOVES_AT_ONCE, MOVES_PER_STEP
from kg.proposal import Move, Proposal, Why
from kg.sizes import Bounds, WhatIf
from kg.world import World

Task = tuple[Move, ...]  # what is checked at once: one move, or both halves of a swap


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of a proposal, or of the next part of it.

    Attributes:
        bodies: of the events to emit as one, in this order; none when nothing was kept.
        size: characters of the level once they are applied; the owner compares it with the rendering.
        dropped: moves that no longer hold, with the reason; with any of them the graph wants another run.
        refused: why the whole proposal is worth nothing; None when it was looked at.
        more: whether another step has something to look at.
    """

    bodies: tuple[Body, ...] = ()
    size: int = 0
    dropped: tuple[tuple[str, str], ...] = ()
    refused: str | None = None
    more: bool = False


def admit(
    world: World, proposal: Proposal, *, now: str, key: str, grace_days: int | None, budget: int = LEVEL_BUDGET_CHARS
) -> Admission:
    """Check a proposal as a whole. Arguments as of `Admitting` and its `step`."""
    all_of_them = 2 * len(proposal.moves) + 1
    admitting = Admitting(
        proposal, key=key, grace_days=grace_days, budget=budget, most=all_of_them, most_unchecked=all_of_them
    )
    return admitting.step(world, now=now)


class Admitting:
    """A proposal on its way into the world.

    Args:
        proposal: what a worker answered.
        key: the graph that was to be planned.
        grace_days: of orphans; None or 0: none is deleted.
        budget: of the level, in characters.
        most: moves checked in one step.
        most_unchecked: moves of a plan that an unchanged graph takes whole.
    """

    def __init__(
        self,
        proposal: Proposal,
        *,
        key: str,
        grace_days: int | None,
        budget: int = LEVEL_BUDGET_CHARS,
        most: int = MOVES_PER_STEP,
        most_unchecked: int = MOVES_AT_ONCE,
    ) -> None:
        self._proposal = proposal
        self._key = key
        self._grace_days = grace_days
        self._bounds = Bounds(budget)
        self._most = most
        self._most_unchecked = most_unchecked
        self._tasks = _tasks(proposal.moves)
        self._begun: bool | None = None

    def step(self, world: World, *, now: str) -> Admission:
        """Check the next moves on the world as it is, which is only read. The owner applies the result at once.

        Args:
            world: the state.
            now: the owner's clock, for the grace of orphans.
        """
        graph = world.graphs.get(self._key)
        first = self._begun is None
        fault = _fault(world, graph, self._proposal, self._key, most=self._most_unchecked if first else 0)
        if graph is None or fault is not None:
            return Admission(refused=fault)
        if first:
            self._begun = graph.size > self._bounds.budget
            if graph.seq == self._proposal.base_seq and len(self._proposal.moves) <= self._most_unchecked:
                whole = _whole(world, graph, self._proposal, now=now, grace_days=self._grace_days)
                if whole is not None:
                    return whole
        check = Check(
            graph, base_seq=self._proposal.base_seq, now=now, grace_days=self._grace_days, bounds=self._bounds,
            begun=bool(self._begun),
        )  # fmt: skip
        tasks = list(islice(self._tasks, self._most))
        for task in tasks:
            check.attempt(task)
        return check.admission(world, more=len(tasks) == self._most)


def _fault(world: World, graph: Graph | None, proposal: Proposal, key: str, *, most: int) -> str | None:
    """Why a proposal cannot be for this graph; looks at up to so many moves."""
    if proposal.graph != key:
        return f"it is for {proposal.graph}, and the job was for {key}"
    if key in world.unreadable:
        return f"{key} has become unreadable"
    if graph is None:
        return f"{key} is no longer known"
    if proposal.base_seq > graph.seq:
        return f"it rests on seq {proposal.base_seq}, and {key} is at {graph.seq}"
    if proposal.base_seq == graph.seq:
        for move in proposal.moves[:most]:
            if (reason := moved_on(graph.nodes.get(move.id), move)) is not None:
                return f"{move.id} {reason}, and {key} has not changed"
    return None


def moved_on(node: Node | None, move: Move) -> str | None:
    """Why a move is about another node, or another version of it, than this one."""
    rests = move.rests_on
    if node is None or node.created_seq != rests.created_seq:
        return "does not exist any more"
    if node.tier != rests.tier:
        return f"is {node.tier} by now"
    if node.content_seq != rests.content_seq:
        return "was written meanwhile"
    return None


def _whole(world: World, graph: Graph, proposal: Proposal, *, now: str, grace_days: int | None) -> Admission | None:
    """The plan as it is, for a graph that nobody has changed; None when its moves must be checked one by one.

    A change of the graph above may have changed what this one shows: its size tells.
    """
    what_if = WhatIf(graph)
    done: dict[str, Why] = {}
    for move in proposal.moves:
        if move.to != "pruned":
            what_if.move(move.id, move.to)
        elif not overdue(graph.nodes[move.id].orphaned, now=now, grace_days=grace_days):
            return None
        done[move.id] = move.why
    if what_if.size != proposal.size:
        fault = f"it was planned to come to {proposal.size} characters, and its moves come to {what_if.size}"
        return None if graph.upper is not None else Admission(refused=fault)
    return Admission(tuple(_bodies(world, what_if, done)), what_if.size)


class Check:
    """Moves in turn, on a graph that has changed since they were planned.

    Args:
        graph: as it is.
        base_seq: its seq when it was planned.
        now: the owner's clock.
        grace_days: of orphans.
        bounds: of the level.
        begun: whether the level was over its budget when application began.
    """

    def __init__(
        self, graph: Graph, *, base_seq: int, now: str, grace_days: int | None, bounds: Bounds, begun: bool
    ) -> None:
        self._graph = graph
        self._base_seq = base_seq
        self._now = now
        self._grace_days = grace_days
        self._bounds = bounds
        self._begun = begun
        self._what_if = WhatIf(graph)
        self._fresh: frozenset[str] | None = None
        self._dropped: dict[str, str] = {}
        self._done: dict[str, Why] = {}

    def admission(self, world: World, *, more: bool) -> Admission:
        """What the attempts came to."""
        bodies = tuple(_bodies(world, self._what_if, self._done))
        return Admission(bodies, self._what_if.size, tuple(self._dropped.items()), more=more)

    def attempt(self, task: Task) -> None:
        """Make the moves of a task in thought, or note why they are dropped."""
        reason = next(filter(None, map(self._unfit, task)), None) or _RULES[task[0].why](self, task)
        for move in task:
            if reason is None:
                self._done[move.id] = move.why
            else:
                self._dropped.setdefault(move.id, reason)

    def _unfit(self, move: Move) -> str | None:
        """Why a node must not be moved at all, or not like this."""
        node = self._graph.nodes.get(move.id)
        if move.id in self._done and node is not None:
            node = replace(node, tier=self._what_if.tier(move.id))
        reason = moved_on(node, move)
        if reason is not None or node is None or move.source != "active":
            return reason
        if node.locked:
            return "is locked"
        return "is fresh" if node.id in self._fresh_now() else None

    def _fresh_now(self) -> frozenset[str]:
        if self._fresh is None:
            self._fresh = fresh_ids(self._graph, room=self._bounds.fresh)
        return self._fresh

    # --- one rule for each why: makes the moves and gives None, or leaves no trace and gives the reason -------------

    def archive(self, task: Task) -> str | None:
        """Only while the level is too large."""
        if not self._begun:
            return "need not be archived: the level was within its budget"
        if self._what_if.size <= self._bounds.ceiling:
            return "need not be archived: the level is down to its ceiling"
        return self._within(task, None)

    def refill(self, task: Task) -> str | None:
        """Only up to the ceiling."""
        return self._within(task, self._bounds.ceiling)

    def swap(self, task: Task) -> str | None:
        """Both halves, and only within the budget."""
        return self._within(task, self._bounds.budget)

    def orphan(self, task: Task) -> str | None:
        """Only while the ids of archived nodes take too much."""
        if self._what_if.anchors <= self._bounds.anchors:
            return "need not be orphaned: the ids of archived nodes have room"
        return self._within(task, None)

    def prune(self, task: Task) -> str | None:
        """Only what nobody has come near."""
        move = task[0]
        node = self._graph.nodes[move.id]
        if not overdue(node.orphaned, now=self._now, grace_days=self._grace_days):
            return "still has its grace"
        if len(node.useful) != move.rests_on.votes or node.read != move.rests_on.read:
            return "was read or voted for meanwhile"
        if any(edge.seq > self._base_seq for edge in self._graph.edges_of(node.id)):
            return "got an edge meanwhile"
        return None

    def _within(self, task: Task, limit: int | None) -> str | None:
        for move in task:
            self._what_if.move(move.id, move.to)  # type: ignore[arg-type]  # a deletion does not come here
        if limit is None or self._what_if.size <= limit:
            return None
        for move in reversed(task):
            self._what_if.move(move.id, move.source)
        return f"would make the level larger than {limit}"


_RULES: Mapping[str, Callable[[Check, Task], str | None]] = {
    "archive": Check.archive,
    "refill": Check.refill,
    "swap": Check.swap,
    "orphan": Check.orphan,
    "prune": Check.prune,
}


def _tasks(moves: tuple[Move, ...]) -> Iterator[Task]:
    """What to check, in order. A net move from active to orphaned is archiving and orphaning.

    All such archiving comes first, as it did in the run: what ids may stay archived depends on it.
    """
    for move in moves:
        if _is_long(move):
            yield (replace(move, to="archived", why="archive"),)
    by_id = {move.id: move for move in moves}
    paired: set[str] = set()
    for move in moves:
        if _is_long(move):
            yield (replace(move, rests_on=replace(move.rests_on, tier="archived")),)
        elif move.partner is None:
            yield (move,)
        elif move.id not in paired:
            paired.add(move.partner)
            yield (move, by_id[move.partner])


def _is_long(move: Move) -> bool:
    return move.source == "active" and move.to == "orphaned"


def _bodies(world: World, what_if: WhatIf, done: Mapping[str, Why]) -> Iterator[Body]:
    graph = what_if.graph
    moves = [
        {"id": node_id, "from": graph.nodes[node_id].tier, "to": what_if.tier(node_id), "why": why}
        for node_id, why in done.items()
        if why != "prune"
    ]
    if moves:
        yield {"kind": "tiers_moved", "graph": graph.key, "moves": moves}
    for node_id, why in done.items():
        if why == "prune":
            yield _deletion(world, graph, node_id)


def _deletion(world: World, graph: Graph, node_id: str) -> Body:
    """A node with its edges in every graph where its id means it."""
    graphs = [graph]
    if graph.key == "user":
        graphs += [each for each in world.project_graphs() if node_id in each.ends and node_id not in each.nodes]
    edges = {each.key: [edge_document(edge) for edge in each.edges_of(node_id)] for each in graphs}
    was = node_document(graph.nodes[node_id])
    return {"kind": "node_deleted", "graph": graph.key, "id": node_id, "was": was, "edges": edges}
