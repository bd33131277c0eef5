"""What other sessions changed: news in replies and hooks, and kg_sync (spec/sessions.md sections 6 and 7).

Both are ranges of one log. News is the selective one (the newest few, no noise), kg_sync the complete one.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

from kg.commands import Sync
from kg.decide.draft import Draft
from kg.errors import refuse
from kg.graph import Change, EdgeKey, Graph
from kg.limits import NEWS_GIST_CHARS, NEWS_LOOK_BACK, NEWS_SHOWN, SYNC_GIST_CHARS
from kg.render import session_line
from kg.sessions import Session, writer_session
from kg.text import longest_prefix, shown

__all__ = ["add_news", "sync"]

Traced = tuple[Graph, Change, str | None]  # a change, and the id that its node has now


def add_news(draft: Draft, session: Session) -> None:
    """Append the newest changes of others; they count as told once this reply has arrived."""
    world, writer = draft.world, session.writer
    mark = max(session.start_seq, session.sync_seq, session.news_seq, world.outbox.told_seq(session.id))
    graphs = [world.graph(key) for key in session.search_order() if key not in world.unreadable]
    changed = [graph for graph in graphs if graph.foreign_seq(writer) > mark]
    found = sorted(_newsworthy(session, changed, mark), key=lambda item: -item[1].seq) if changed else []
    if not found:
        return
    for graph, change, present in found[:NEWS_SHOWN]:
        _tell(draft, graph, change, present)
    if len(found) > NEWS_SHOWN:
        draft.say(f"News: +{len(found) - NEWS_SHOWN} more, kg_sync lists them")
    draft.say("News: update such a node rather than write it again.")
    draft.text.close(["told", draft.world.seq])


def _newsworthy(session: Session, graphs: Iterable[Graph], mark: int) -> Iterator[Traced]:
    for graph in graphs:
        told: set[str] = set()
        for change, present in _traced(graph, mark, NEWS_LOOK_BACK):
            if change.kind == "put" and present in told:
                continue
            if _is_news(session, graph, change, present):
                if change.kind == "put" and present is not None:
                    told.add(present)
                yield graph, change, present


def _is_news(session: Session, graph: Graph, change: Change, present: str | None) -> bool:
    if change.by.startswith("maint:") or writer_session(change.by) == session.id:
        return False
    if graph.level == "user" and change.project not in {None, session.project}:
        return False  # left to kg_sync: another project's work on the user graph is noise here
    view = session.view((graph.key, present or change.id))
    if change.kind in {"renamed", "deleted"}:
        return view.seen_seq is not None
    node = graph.nodes.get(present) if present is not None else None
    if change.kind != "put" or node is None or node.tier != "active":
        return False
    return view.seen_seq is None or view.seen_seq < change.seq


def _tell(draft: Draft, graph: Graph, change: Change, present: str | None) -> None:
    if change.kind == "deleted":
        draft.say(f"News: {graph.level}/{change.id} was deleted")
        return
    if change.kind == "renamed":
        draft.say(f"News: {graph.level}/{change.id} is now {present or change.other}")
        return
    node = graph.nodes[present or change.id]
    writer = draft.world.sessions.get(writer_session(change.by))
    who = writer.harness if writer else _PERSONS.get(change.by, "an earlier session")
    gist = shown(node.gist)
    line = f"News: {'new' if change.new else 'updated'} {graph.level}/{node.id} by {who}: "
    if len(gist) <= NEWS_GIST_CHARS:
        draft.say(line + gist, ["seen", graph.key, node.id, node.content_seq, "push"])
    else:
        draft.say(f"{line}{longest_prefix(gist, NEWS_GIST_CHARS, len)}…")


_PERSONS: Mapping[str, str] = {"file": "hand", "editor": "hand", "cli": "hand", "import": "import", "kg": "kg"}


def _since(graph: Graph, mark: int, most: int) -> Iterator[Change]:
    """Changes after a mark, newest first, at most so many."""
    newest = (graph.changes[-1 - i] for i in range(min(most, len(graph.changes))))
    return takewhile(lambda change: change.seq > mark, newest)


def _traced(graph: Graph, mark: int, most: int) -> Iterator[tuple[Change, str | None]]:
    """Changes after a mark, newest first, each with the id that its node has now; None when that node is gone.

    An id may have meant one node before a deletion or rename and another one after it, so names are followed backwards.
    """
    names: dict[str, str | None] = {}
    for change in _since(graph, mark, most):
        if change.kind == "renamed" and isinstance(change.other, str):
            present = names.get(change.other, change.other)
            names[change.id], names[change.other] = present, None
        elif change.kind == "deleted":
            present = names[change.id] = None
        else:
            present = names.get(change.id, change.id)
        yield change, present


# --- kg_sync -----------------------------------------------------------------------------------------------------


def sync(draft: Draft, command: Sync) -> None:
    """Everything that others changed since this session's last kg_sync."""
    session = draft.require_session(command.session_id)
    if not session.usable:
        raise refuse("unknown-session", "this session has no project and no user scope")
    draft.emit("session_active", session=session.id)
    since = session.sync_seq
    for key in session.search_order():
        graph = draft.readable(key)
        if graph.changes_from > since:
            draft.say(
                f"Note: the log in memory reaches back to seq {graph.changes_from}, you asked from {since}; "
                "do a full kg_read to be sure."
            )
        _level_diff(draft, session, graph, since)
    draft.say_whose()
    draft.say(session_line(session.id))
    draft.text.close(["synced", draft.world.seq])


def _level_diff(draft: Draft, session: Session, graph: Graph, since: int) -> None:
    nodes, gone, moved = _node_changes(session, graph, since)
    put, cut = _edge_changes(session, graph, since)
    name = f"PROJECT {graph.slug}" if graph.slug else "USER"
    counts = f"{_count(len(nodes), 'node')}, {_count(len(put), 'edge')}, {len(gone) + len(cut)} deleted"
    draft.say(f"=== {name} — {counts}, {len(moved)} renamed ===")
    for node_id in sorted(nodes):
        node = graph.nodes[node_id]
        mark = " (archived)" if node.tier == "archived" else ""
        draft.say(f"  node {node_id}{mark}: {longest_prefix(shown(node.gist), SYNC_GIST_CHARS, len)}")
    for edge_key in sorted(put):
        draft.say(f"  {_triple(edge_key)}")
    for node_id in sorted(gone):
        draft.say(f"  deleted {node_id}")
    for edge_key in sorted(cut):
        draft.say(f"  deleted edge {_triple(edge_key)}")
    for line in reversed(moved):
        draft.say(f"  renamed {line}")


def _node_changes(session: Session, graph: Graph, since: int) -> tuple[set[str], set[str], list[str]]:
    """Nodes that others wrote, ids that they deleted, and their renames, newest first."""
    nodes: set[str] = set()
    gone: set[str] = set()
    moved: list[str] = []
    for change, present in _traced(graph, since, len(graph.changes)):
        if writer_session(change.by) == session.id:
            continue
        if change.kind == "put" and present is not None and present in graph.nodes:
            nodes.add(present)
        elif change.kind == "deleted" and change.id not in graph.nodes:
            gone.add(change.id)
        elif change.kind == "renamed":
            moved.append(f"{change.id} → {present or change.other}")
    return nodes, gone, moved


def _edge_changes(session: Session, graph: Graph, since: int) -> tuple[set[EdgeKey], set[EdgeKey]]:
    """Edges that others wrote, and edges that they deleted, by the names that their ends have now."""
    ends: dict[str, str] = {}
    put: set[EdgeKey] = set()
    cut: set[EdgeKey] = set()
    for change in _since(graph, since, len(graph.changes)):
        if change.kind in {"renamed", "rewired"} and isinstance(change.other, str):
            ends[change.id] = ends.get(change.other, change.other)
        elif isinstance(change.other, tuple) and writer_session(change.by) != session.id:
            source, rel, target = change.other
            key = (ends.get(source, source), rel, ends.get(target, target))
            if change.kind == "edge_put" and key in graph.edges:
                put.add(key)
            elif change.kind == "edge_deleted" and key not in graph.edges:
                cut.add(key)
    return put, cut


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _triple(key: EdgeKey) -> str:
    source, rel, target = key
    return f"{shown(source)} --{rel}--> {shown(target)}"
