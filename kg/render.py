"""The text that enters a model's context (spec/rendering.md).

Every function here returns a `Text`: lines, with the effects that hold once a line has arrived. Column 0 belongs to kg:
stored text stands behind blanks, `gist: ` or `- ` in every line.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from kg import lines
from kg.delivery import Text
from kg.graph import Edge, Graph, Node
from kg.sessions import Session, writer_session
from kg.text import lines as split_lines
from kg.text import one_line, shown
from kg.world import World

ANNOUNCE = "Tell the user in one sentence that kg's memories of earlier work are loaded."
HOW_TO_START = "  (nothing yet: kg_put_node(session_id, level, id, gist) writes the first lesson)"


def level_line(graph: Graph) -> str:
    """The `===` line of a level with its counts."""
    name = f"PROJECT {graph.slug}" if graph.slug else graph.level.upper()
    return f"=== {name} — {graph.counts['active']} active, {graph.counts['archived']} archived ==="


def session_line(session_id: str) -> str:
    """The last line of a reply that has one; clients' transcripts are searched for it."""
    return f"Session: {session_id}"


def reading_order(graph: Graph) -> list[Node]:
    """Active nodes cluster by cluster, the hub of each first; the same for any order of the input."""
    adjacent: dict[str, set[str]] = {node_id: set() for node_id, node in graph.nodes.items() if node.tier == "active"}
    degree = dict.fromkeys(adjacent, 0)
    for source, _, target in graph.charges:
        for end in {source, target}:
            if end in degree:
                degree[end] += 1
        if source in adjacent and target in adjacent and source != target:
            adjacent[source].add(target)
            adjacent[target].add(source)

    def rank(node_id: str) -> tuple[int, str]:
        return (-degree[node_id], node_id)

    left = set(adjacent)
    starts = (node_id for node_id in sorted(adjacent, key=rank) if node_id in left)
    clusters = [_breadth_first(start, adjacent, rank, left) for start in starts]
    clusters.sort(key=lambda cluster: (-len(cluster), *rank(cluster[0])))
    return [graph.nodes[node_id] for cluster in clusters for node_id in cluster]


def _breadth_first(
    start: str, adjacent: Mapping[str, set[str]], rank: Callable[[str], tuple[int, str]], left: set[str]
) -> list[str]:
    order, queue = [], deque([start])
    left.discard(start)
    while queue:
        here = queue.popleft()
        order.append(here)
        for neighbour in sorted(adjacent[here] & left, key=rank):
            left.discard(neighbour)
            queue.append(neighbour)
    return order


def citations(graph: Graph, node_id: str) -> list[str]:
    """The lines of the edges that are cited under an active node."""
    rows = []
    for edge in graph.edges_of(node_id):
        if graph.cited_under(edge) == node_id:
            outgoing = edge.source == node_id
            other = edge.target if outgoing else edge.source
            rows.append(((not outgoing, edge.rel, other), lines.citation(edge, outgoing=outgoing)))
    return [line for _, line in sorted(rows)]


def body(graph: Graph, *, session: Session | None = None, via: str = "full_read") -> Text:
    """The body of a level. With a session, gists that this context has from the preload stand as bare ids."""
    text = Text()
    if graph.counts["active"]:
        text.add(lines.ACTIVE_HEADER)
    for node in reading_order(graph):
        key = (graph.key, node.id)
        if session is not None and key in session.preloaded and session.in_context(key):
            text.add(lines.preloaded_line(node))
        else:
            text.add(lines.node_line(node), ["seen", *key, node.content_seq, via])
        for line in citations(graph, node.id):
            text.add(line)
    if graph.counts["archived"]:
        text.add(lines.ARCHIVED_HEADER)
        for node_id in sorted(node_id for node_id, node in graph.nodes.items() if node.tier == "archived"):
            text.add(lines.anchor(node_id))
    return text


def health_line(graph: Graph) -> str:
    """Counts of a level: how well its active nodes hang together."""
    active = graph.counts["active"]
    held = {end for source, _, target in graph.charges for end in (source, target)}
    loose = sum(1 for node_id, node in graph.nodes.items() if node.tier == "active" and node_id not in held)
    share = round(100 * loose / active) if active else 0
    edges = len(graph.charges)
    per_node = edges / active if active else 0.0
    return f"HEALTH: {active} active, {edges} edges, {loose} unconnected ({share} %), {per_node:.1f} edges per node"


def full_read(graphs: Sequence[Graph], session: Session) -> Text:
    """Both levels, or the one that was asked for."""
    text = Text()
    for graph in graphs:
        text.add(level_line(graph))
        known = sum(
            1 for node_id, node in graph.nodes.items() if _bare(graph, session, node_id) and node.tier == "active"
        )
        if known:
            text.add(f"{known} gists were shown at session start; they stand here as ids marked (preloaded).")
        if not graph.nodes:
            text.add(HOW_TO_START)
        else:
            text.extend(body(graph, session=session))
            text.add(health_line(graph))
        text.add("")
    return text


def _bare(graph: Graph, session: Session, node_id: str) -> bool:
    key = (graph.key, node_id)
    return key in session.preloaded and session.in_context(key)


def node_block(world: World, graph: Graph, node: Node, *, promote: bool, via: str, stamp: bool) -> Text:
    """One node in full; read, seen and promotion hold with its last line."""
    text = Text()
    text.add(f"▸ {node.id} ({', '.join(_standing(world, graph, node, promote=promote))})")
    text.add(f"gist: {shown(node.gist)}")
    if node.notes:
        text.add("notes:")
        for note in node.notes:
            add_note(text, note)
    if node.touches:
        text.add(f"touches: {' · '.join(shown(one_line(touch)) for touch in node.touches)}")
    edges = sorted(graph.edges_of(node.id), key=lambda edge: edge.key)
    if edges:
        text.add("edges:")
        for edge in edges:
            text.add(edge_line(edge))
    if node.useful:
        text.add(_useful_line(node))
    key = (graph.key, node.id)
    text.close(["read", *key, node.content_seq, via, stamp])
    if promote and node.tier != "active":
        text.close(["promote", *key])
    for edge in edges:
        text.close(["edge", graph.key, *edge.key, edge.seq])
    return _closed_at_end(text)


def add_note(text: Text, note: str) -> None:
    """A note as a bullet; its further lines stand behind four blanks, so none can pass for structure."""
    for number, line in enumerate(split_lines(note)):
        text.add(f"{'    ' if number else '  - '}{shown(line)}")


def _closed_at_end(text: Text) -> Text:
    """Tie the closing effects to the last line, so that the block can stand inside a longer reply."""
    text.effects.extend((len(text.lines) - 1, effect) for effect in text.closing)
    text.closing.clear()
    return text


def _standing(world: World, graph: Graph, node: Node, *, promote: bool) -> Iterable[str]:
    yield graph.level
    yield "promoted" if promote and node.tier != "active" else node.tier
    if node.locked:
        yield "locked"
    last = graph.last_put.get(node.id)
    writer = world.sessions.get(writer_session(node.by))
    if last is not None:
        yield f"by {writer.harness if writer else node.by} {last.ts[:10]}"
    else:
        yield f"created {node.created[:10]}"


def _useful_line(node: Node) -> str:
    parts = [f"useful: {len(node.useful)} (last {max(node.useful)[:10]})"]
    if node.credited:
        parts.append(f"{len(node.credited)} by maintenance")
    if node.recurrences:
        parts.append(f"{len(node.recurrences)} repeats")
    return ", ".join(parts)


def edge_line(edge: Edge) -> str:
    """An edge as a full triple with its notes."""
    notes = f" [{'; '.join(shown(one_line(note)) for note in edge.notes)}]" if edge.notes else ""
    return f"  {shown(edge.source)} --{edge.rel}--> {shown(edge.target)}{notes}"


def maintain_read(graph: Graph) -> Text:
    """The maintenance memory with its notes."""
    text = Text()
    archived = sorted(node_id for node_id, node in graph.nodes.items() if node.tier == "archived")
    text.add(f"=== MAINTAIN — {graph.counts['active']} lessons, {len(archived)} archived ===")
    for node in reading_order(graph):
        text.add(f"▸ {node.id}")
        text.add(f"gist: {shown(node.gist)}")
        for note in node.notes:
            add_note(text, note)
        text.effects.append((len(text.lines) - 1, ["read", graph.key, node.id, node.content_seq, "read", False]))
        for line in citations(graph, node.id):
            text.add(line)
    if archived:
        text.add(f"archived: {', '.join(archived)}")
    return text
