"""What other sessions changed: news in replies and hooks, and kg_sync (spec/sessions.md sections 6 and 7).

Both are ranges of one log. News is the selective one (the newest few, no noise), kg_sync the complete one.
"""

from collections.abc import Iterator
from itertools import takewhile

from kg.commands import Sync
from kg.decide.draft import Draft
from kg.errors import refuse
from kg.graph import Change, Graph
from kg.limits import NEWS_GIST_CHARS, NEWS_LOOK_BACK, NEWS_SHOWN, SYNC_GIST_CHARS
from kg.render import session_line
from kg.sessions import Session, writer_session
from kg.text import shown

__all__ = ["add_news", "sync"]


def add_news(draft: Draft, session: Session) -> None:
    """Append the newest changes of others; they count as told once this reply has arrived."""
    mark = max(session.start_seq, session.sync_seq, session.news_seq, draft.world.outbox.told_seq(session.id))
    found = sorted(_newsworthy(draft, session, mark), key=lambda item: -item[1].seq)
    if not found:
        return
    for graph, change in found[:NEWS_SHOWN]:
        _tell(draft, graph, change)
    if len(found) > NEWS_SHOWN:
        draft.say(f"News: +{len(found) - NEWS_SHOWN} more, kg_sync lists them")
    draft.say("News: update such a node rather than write it again.")
    draft.text.close(["told", draft.world.seq])


def _newsworthy(draft: Draft, session: Session, mark: int) -> Iterator[tuple[Graph, Change]]:
    for key in session.search_order():
        if key in draft.world.unreadable:
            continue
        graph = draft.world.graph(key)
        if graph.foreign_seq(session.writer) <= mark:
            continue
        told: set[str] = set()
        for change in _since(graph, mark, NEWS_LOOK_BACK):
            if change.id not in told and _is_news(session, graph, change):
                told.add(change.id)
                yield graph, change


def _is_news(session: Session, graph: Graph, change: Change) -> bool:
    if change.by.startswith("maint:") or writer_session(change.by) == session.id:
        return False
    if graph.level == "user" and change.project not in {None, session.project}:
        return False  # left to kg_sync: another project's work on the user graph is noise here
    view = session.view((graph.key, change.id))
    if change.kind in {"renamed", "deleted"}:
        new_id = change.other if isinstance(change.other, str) else change.id
        return session.view((graph.key, new_id)).seen_seq is not None or view.seen_seq is not None
    node = graph.nodes.get(change.id)
    if change.kind != "put" or node is None or node.tier == "archived":
        return False
    return view.seen_seq is None or view.seen_seq < change.seq


def _tell(draft: Draft, graph: Graph, change: Change) -> None:
    if change.kind == "deleted":
        draft.say(f"News: {graph.level}/{change.id} was deleted")
        return
    if change.kind == "renamed":
        draft.say(f"News: {graph.level}/{change.id} is now {change.other}")
        return
    node = graph.nodes[change.id]
    writer = draft.world.sessions.get(writer_session(change.by))
    who = writer.harness if writer else change.by
    gist = shown(node.gist)
    whole = len(gist) <= NEWS_GIST_CHARS
    line = f"News: {'new' if change.new else 'updated'} {graph.level}/{node.id} by {who}: {gist[:NEWS_GIST_CHARS]}"
    if whole:
        draft.say(line, ["seen", graph.key, node.id, node.content_seq, "push"])
    else:
        draft.say(f"{line}…")


def _since(graph: Graph, mark: int, most: int) -> Iterator[Change]:
    """Changes after a mark, newest first, at most so many."""
    newest = (graph.changes[-1 - i] for i in range(min(most, len(graph.changes))))
    return takewhile(lambda change: change.seq > mark, newest)


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
    draft.say(session_line(session.id))
    draft.text.close(["synced", draft.world.seq])


def _level_diff(draft: Draft, session: Session, graph: Graph, since: int) -> None:
    foreign = [
        change
        for change in reversed(list(_since(graph, since, len(graph.changes))))
        if writer_session(change.by) != session.id
    ]
    names = _names_now(graph, since)
    put = {names.get(change.id, change.id) for change in foreign if change.kind == "put"}
    nodes = sorted(node_id for node_id in put if node_id in graph.nodes)
    edges = sorted({change.other for change in foreign if change.kind == "edge_put" and change.other in graph.edges})
    gone = sorted({change.id for change in foreign if change.kind == "deleted" and change.id not in graph.nodes})
    cut = sorted(
        {change.other for change in foreign if change.kind == "edge_deleted" and change.other not in graph.edges}
    )
    moved = [change for change in foreign if change.kind == "renamed"]
    name = f"PROJECT {graph.slug}" if graph.slug else "USER"
    counts = f"{_count(nodes, 'node')}, {_count(edges, 'edge')}, {len(gone) + len(cut)} deleted, {len(moved)} renamed"
    draft.say(f"=== {name} — {counts} ===")
    for node_id in nodes:
        node = graph.nodes[node_id]
        mark = " (archived)" if node.tier == "archived" else ""
        draft.say(f"  node {node_id}{mark}: {shown(node.gist)[:SYNC_GIST_CHARS]}")
    for edge_key in edges:
        draft.say(f"  {_triple(edge_key)}")
    for node_id in gone:
        draft.say(f"  deleted {node_id}")
    for edge_key in cut:
        draft.say(f"  deleted edge {_triple(edge_key)}")
    for change in moved:
        draft.say(f"  renamed {change.id} → {change.other}")


def _names_now(graph: Graph, since: int) -> dict[str, str]:
    """Old id -> present id, for the renames in the range."""
    names: dict[str, str] = {}
    for change in _since(graph, since, len(graph.changes)):
        if change.kind == "renamed" and isinstance(change.other, str):
            names[change.id] = names.get(change.other, change.other)
    return names


def _count(things: list[str] | list[object], word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


def _triple(key: object) -> str:
    source, rel, target = key  # type: ignore[misc]
    return f"{shown(source)} --{rel}--> {shown(target)}"
