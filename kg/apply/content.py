"""Appliers of what agents and persons write: nodes, edges, tiers, votes, progress."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kg.apply.step import Step
from kg.documents import edge_from, node_fields
from kg.events import Body
from kg.graph import Edge, Graph, Node
from kg.limits import GIST_CHANGES_KEPT
from kg.sessions import Session, writer_session

CONTENT = frozenset({"gist", "notes", "touches"})


def _store(step: Step, graph: Graph, node: Node) -> None:
    """Put a node; a user node that is new changes what the projects' edges to its id show."""
    fresh = node.id not in graph.nodes
    graph.put_node(node)
    if fresh and graph.key == "user":
        for project in step.world.project_graphs():
            project.recharge(node.id)


def _remove(step: Step, graph: Graph, node_id: str) -> None:
    if node_id in graph.nodes:
        graph.remove_node(node_id)
        if graph.key == "user":
            for project in step.world.project_graphs():
                project.recharge(node_id)


def raise_neighbours(graph: Graph, node_id: str) -> None:
    """A node became active: its orphaned neighbours come one step nearer."""
    for edge in list(graph.edges_of(node_id)):
        other = graph.nodes.get(edge.target if edge.source == node_id else edge.source)
        if other is not None and other.tier == "orphaned":
            graph.change_node(other.id, tier="archived", orphaned=None)


def node_put(step: Step, body: Body) -> None:
    """A node was created or updated."""
    key, node_id, changed = body["graph"], body["id"], body["set"]
    seq, ts, by = step.event.seq, step.event.ts, step.event.by
    new = body["was"] is None
    content = not CONTENT.isdisjoint(changed)
    if graph := step.graph(key):
        fields = node_fields(changed, clearing=True)
        if "extra" in changed:
            fields["extra"] = changed["extra"]
        old = graph.nodes.get(node_id)
        if old is None:
            fields = {**node_fields(body["was"] or {}, clearing=True), **fields}
            old = Node(node_id, "", created=ts, created_seq=seq)
        if content:
            fields["content_seq"] = seq
            fields["by"] = by
            if not new and "gist" in changed:
                fields["gist_changes"] = (*old.gist_changes, ts)[-GIST_CHANGES_KEPT:]
        _store(step, graph, old.altered(fields))
        if old.tier != "active" and graph.nodes[node_id].tier == "active":
            raise_neighbours(graph, node_id)
    if content:
        step.record(key, "put", node_id, new=new)
    if (view := body.get("view")) and (session := step.session(writer_session(by))) is not None:
        held = session.view((key, node_id))
        grow = held.read_whole if view == "read" else held.seen
        session.views[key, node_id] = grow(seq, "unknown", session.contexts)
    if credit := body.get("credit"):
        _credit(step, credit)


def _credit(step: Step, credit: Mapping[str, Any]) -> None:
    """A usefulness stamp and its ledger entry, in one (spec/tools.md section 13)."""
    key, node_id = credit["graph"], credit["id"]
    case = credit.get("case_seq")
    if (graph := step.graph(key)) and (node := graph.nodes.get(node_id)) and case not in node.recurrences:
        stamps = [credit["at"]] * credit.get("stamps", 1)
        fields: Body = {"useful": tuple(sorted((*node.useful, *stamps)))}
        if credit.get("maintenance"):
            fields["credited"] = (*node.credited, *stamps)
            if node.tier == "orphaned":
                fields |= {"tier": "archived", "orphaned": None}
        if case:
            fields["recurrences"] = (*node.recurrences, case)
        graph.put_node(node.altered(fields))
    if (voter := credit.get("session")) and (session := step.session(voter)) is not None:
        if credit.get("maintenance"):
            session.credits += credit.get("stamps", 1)
        session.votes[key, node_id] = session.votes.get((key, node_id), 0) + credit.get("stamps", 1)


def node_deleted(step: Step, body: Body) -> None:
    """A node went, with its edges in every graph that the event lists."""
    for key, edges in body["edges"].items():
        if graph := step.graph(key):
            for document in edges:
                edge = edge_from(document)
                if edge.key in graph.edges:
                    graph.remove_edge(edge.key)
    if graph := step.graph(body["graph"]):
        _remove(step, graph, body["id"])
    step.record(body["graph"], "deleted", body["id"])


def node_renamed(step: Step, body: Body) -> None:
    """A node has another id; edges, sessions and deliveries under way follow."""
    key, old, new = body["graph"], body["old"], body["new"]
    if (graph := step.graph(key)) and (node := graph.nodes.get(old)) is not None:
        _remove(step, graph, old)
        _store(step, graph, replace(node, id=new, used=step.event.ts if body.get("used") else node.used))
        if old in graph.scores:
            graph.scores = {swap(node_id, old, new): score for node_id, score in graph.scores.items()}
    for edge_graph, edges in body["edges"].items():
        if graph := step.graph(edge_graph):
            for document in edges:
                _rewire(step, graph, edge_from(document), old=old, new=new)
    if step.table():
        for session in step.world.sessions.values():
            _rename_in_session(session, key, old=old, new=new, edge_graphs=tuple(body["edges"]))
        step.world.outbox.rename(key, old=old, new=new)
        step.world.pending = {sid: parts.renamed(key, old=old, new=new) for sid, parts in step.world.pending.items()}
    step.record(key, "renamed", old, other=new)
    for edge_graph in sorted(body["edges"].keys() - {key}):
        step.record(edge_graph, "rewired", old, other=new)


def _rewire(step: Step, graph: Graph, edge: Edge, *, old: str, new: str) -> None:
    """Let an edge name the new id; two edges that fall on one key become one that keeps the notes of both.

    Who saw the notes of one of them has not seen those of both, so such a merge counts as a change of the edge.
    """
    stored = graph.edges.get(edge.key)
    if stored is None:
        return
    graph.remove_edge(edge.key)
    moved = replace(stored, source=swap(stored.source, old, new), target=swap(stored.target, old, new))
    other = graph.edges.get(moved.key)
    if other is not None:
        lacking = tuple(note for note in moved.notes if note not in other.notes)
        moved = replace(other, notes=(*other.notes, *lacking), seq=step.event.seq) if lacking else other
    graph.put_edge(moved)


def swap(text: str, old: str, new: str) -> str:
    """`new` where the text is `old`."""
    return new if text == old else text


def _rename_in_session(session: Session, key: str, *, old: str, new: str, edge_graphs: tuple[str, ...]) -> None:
    before, after = (key, old), (key, new)
    if before in session.views:
        session.views[after] = session.views.pop(before)
    for keys in (session.preloaded, session.promoted):
        if before in keys:
            keys.discard(before)
            keys.add(after)
    if before in session.votes:
        session.votes[after] = session.votes.pop(before)
    for graph_key, (source, rel, target) in list(session.edge_views):
        if graph_key in edge_graphs and old in (source, target):
            seq = session.edge_views.pop((graph_key, (source, rel, target)))
            after_key = (graph_key, (swap(source, old, new), rel, swap(target, old, new)))
            session.edge_views[after_key] = max(seq, session.edge_views.get(after_key, 0))


def edge_put(step: Step, body: Body) -> None:
    """An edge was created or its notes were replaced."""
    edge = edge_from(body["edge"])
    if graph := step.graph(body["graph"]):
        graph.put_edge(replace(edge, seq=step.event.seq, by=step.event.by))
    if (session := step.session(writer_session(step.event.by))) is not None:
        session.edge_views[body["graph"], edge.key] = step.event.seq
    step.record(body["graph"], "edge_put", edge.source, other=edge.key, new=body["was"] is None)
    if credit := body.get("credit"):
        _credit(step, credit)


def edge_deleted(step: Step, body: Body) -> None:
    """An edge went."""
    edge = edge_from(body["edge"])
    if (graph := step.graph(body["graph"])) and edge.key in graph.edges:
        graph.remove_edge(edge.key)
    step.record(body["graph"], "edge_deleted", edge.source, other=edge.key)


def edges_cleaned(step: Step, body: Body) -> None:
    """Edges to nothing went."""
    if graph := step.graph(body["graph"]):
        for edge in map(edge_from, body["edges"]):
            if edge.key in graph.edges:
                graph.remove_edge(edge.key)
    for edge in map(edge_from, body["edges"]):
        step.record(body["graph"], "edge_deleted", edge.source, other=edge.key)


def progress_put(step: Step, body: Body) -> None:
    """The state of a task was stored."""
    if graph := step.graph(body["graph"]):
        graph.progress[body["task"]] = body["state"]


def tiers_moved(step: Step, body: Body) -> None:
    """Nodes moved between active, archived and orphaned."""
    if graph := step.graph(body["graph"]):
        for move in body["moves"]:
            if move["id"] in graph.nodes:
                at = step.event.ts if move["to"] == "orphaned" else None
                graph.change_node(move["id"], tier=move["to"], orphaned=at)


def node_voted(step: Step, body: Body) -> None:
    """Usefulness stamps, each with its ledger entry."""
    for vote in body["votes"]:
        _credit(step, vote)
