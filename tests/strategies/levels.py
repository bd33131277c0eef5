"""Random levels for compaction, the same for a seed on every machine: a graph with its budget."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kg.graph import Edge, Graph, Node, graph_of

DAY_ONE = datetime(2026, 1, 1, tzinfo=UTC)
NOW_DAY = 400
RELS = ("requires", "documented-in", "is", "instance-of")
ALPHABET = "abcdefghij-"
TEXTS = (
    "plain words ",
    "emoji 🧠👩‍🔬 ",
    "שלום עולם ",
    "記憶と鍵 ",
    "cafe\u0301 ",
    "zero\u200bwidth ",
    "</system-reminder> ",
)


def dice(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a seed must give the same level everywhere


def day(number: float) -> str:
    return (DAY_ONE + timedelta(days=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


NOW = day(NOW_DAY)


@dataclass(frozen=True, slots=True)
class Level:
    graph: Graph
    budget: int


def _ids(rng: random.Random, count: int, longest: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        length = rng.randint(0, longest - 1)
        found["".join([rng.choice("abcxyz0"), *rng.choices(ALPHABET, k=length)])] = None
    return list(found)


def _gist(rng: random.Random, longest: int) -> str:
    text = rng.choice(TEXTS)
    length = rng.randint(5, longest)
    return (text * (length // len(text) + 1))[:length]


def _votes(rng: random.Random) -> tuple[str, ...]:
    if rng.random() < 0.6:
        return ()
    return tuple(sorted(day(rng.randrange(NOW_DAY)) for _ in range(rng.randint(1, 4))))


def _node(rng: random.Random, node_id: str, number: int, *, longest: int, tier: str, near: bool) -> Node:
    born = rng.randrange(NOW_DAY)
    used = born + rng.random() if near else rng.randint(born, NOW_DAY)
    locked = rng.random() < 0.04
    tier = "active" if locked else tier
    return Node(
        node_id, _gist(rng, longest), tier=tier, created=day(born), created_seq=number, content_seq=number,
        used=day(used) if rng.random() < 0.9 else None,
        read=day(rng.randint(born, NOW_DAY)) if rng.random() < 0.3 else None,
        useful=_votes(rng), orphaned=day(rng.randrange(NOW_DAY)) if tier == "orphaned" else None, locked=locked,
    )  # fmt: skip


def _level(rng: random.Random, nodes: list[Node], edges: dict[tuple[str, str, str], Edge]) -> Level:
    upper = graph_of("user", [Node("shared-lesson", "of the user", created_seq=1)], [])
    graph = graph_of("projects/app", nodes, edges.values(), upper=upper)
    everything = graph_of("projects/app", [_as_active(node) for node in nodes], edges.values(), upper=upper)
    graph.seq = len(nodes)
    return Level(graph, int(everything.size * rng.uniform(0.2, 1.3)))


def _as_active(node: Node) -> Node:
    return Node(node.id, node.gist, locked=node.locked)


def _link(rng: random.Random, ids: list[str], source: str) -> Edge:
    chance = rng.random()
    if chance < 0.12:
        target = rng.choice(("src/x.py", "docs/auth.md:12-40", "shared-lesson", "nobody-has-this"))
    else:
        target = rng.choice(ids)
    return Edge(source, rng.choice(RELS), target) if rng.random() < 0.9 else Edge(target, rng.choice(RELS), source)


def mixed(seed: int) -> Level:
    """Few nodes of all sizes, some edges, files among the ends; most start partly archived and orphaned."""
    rng = dice(f"mixed {seed}")
    ids = _ids(rng, rng.randint(4, 40), 30)
    tiers = ("active", "active", "archived", "archived", "orphaned") if rng.random() < 0.6 else ("active",)
    nodes = [
        _node(rng, node_id, number, longest=500, tier=rng.choice(tiers), near=False)
        for number, node_id in enumerate(ids, 1)
    ]
    edges = [_link(rng, ids, node_id) for node_id in ids for _ in range(rng.randint(0, 3))]
    return _level(rng, nodes, {edge.key: edge for edge in edges})


def fresh_heavy(seed: int) -> Level:
    """All active, linked both ways and densely, used when they were made."""
    rng = dice(f"fresh {seed}")
    ids = _ids(rng, rng.randint(4, 30), 20)
    nodes = [
        _node(rng, node_id, number, longest=150, tier="active", near=True) for number, node_id in enumerate(ids, 1)
    ]
    edges: dict[tuple[str, str, str], Edge] = {}
    for node_id in ids:
        for _ in range(rng.randint(1, 5)):
            other, rel = rng.choice(ids), rng.choice(RELS)
            for edge in (Edge(node_id, rel, other), Edge(other, rel, node_id)):
                edges[edge.key] = edge
    return _level(rng, nodes, edges)


def anchor_heavy(seed: int) -> Level:
    """Most are archived, with long ids."""
    rng = dice(f"anchors {seed}")
    ids = _ids(rng, rng.randint(4, 40), 60)
    tiers = ("archived",) * 5 + ("active",) * 2
    nodes = [
        _node(rng, node_id, number, longest=120, tier=rng.choice(tiers), near=False)
        for number, node_id in enumerate(ids, 1)
    ]
    edges = [_link(rng, ids, node_id) for node_id in ids for _ in range(rng.randint(0, 2))]
    return _level(rng, nodes, {edge.key: edge for edge in edges})


GENERATORS: Mapping[str, Callable[[int], Level]] = {
    "mixed": mixed,
    "fresh-heavy": fresh_heavy,
    "anchor-heavy": anchor_heavy,
}
