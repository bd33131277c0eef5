"""kg_search: what lies below the surface, by words."""

from kg.commands import Search
from kg.decide.draft import Draft
from kg.decide.news import add_news
from kg.delivery import Text
from kg.graph import Graph
from kg.limits import HIT_GIST_CHARS, QUERY_SHOWN_CHARS, SEARCH_CHARS, SEARCH_MORE, SEARCH_TOKENS, SEARCH_TOP
from kg.lines import charge
from kg.render import add_note
from kg.search import Hit, matches
from kg.sessions import Session
from kg.text import one_line, shown
from kg.tokens import tokens


def search(draft: Draft, command: Search) -> None:
    """Answer with the best hits of the session's graphs, or of the user graph when nobody says who asks."""
    session = draft.require_session(command.session_id) if command.session_id else None
    if session is not None:
        draft.emit("session_active", session=session.id)
    graphs = _graphs(draft, session, command)
    query = shown(one_line(command.query))[:QUERY_SHOWN_CHARS]
    wanted = tokens(command.query)
    hits = _hits(graphs, command.query, list(dict.fromkeys(wanted))[:SEARCH_TOKENS])
    if not hits:
        draft.say(f"Nothing found for “{query}”." if wanted else "Nothing to search for: the query has no word.")
    else:
        where = ", ".join("user" if graph.slug is None else f"project {graph.slug}" for graph in graphs)
        draft.say(f'Found {len(hits)} for "{query}" ({where})')
        _show(draft, session, hits)
    if len(set(wanted)) > SEARCH_TOKENS:
        draft.say(f"Note: only the first {SEARCH_TOKENS} words of the query were used.")
    if session is None and command.level is None:
        draft.say("Note: this is the user graph only; a session_id (from kg_read(cwd=...)) includes a project.")
    if session is not None:
        add_news(draft, session)


def _graphs(draft: Draft, session: Session | None, command: Search) -> list[Graph]:
    if command.level and session is None and command.level != "project":
        return [draft.readable(command.level)]
    if command.level:
        return [draft.graph_of(session or draft.require_session(""), command.level)]
    keys = session.search_order() if session else ("user",)
    return [draft.world.graph(key) for key in keys if key not in draft.world.unreadable]


def _hits(graphs: list[Graph], query: str, wanted: list[str]) -> list[Hit]:
    most = SEARCH_TOP + SEARCH_MORE
    hits = [hit for graph in graphs for hit in matches(graph, wanted, most=most)]
    hits.sort(key=lambda hit: (-hit.matched, not hit.title, hit.graph.key == "user", hit.node.id))
    exact = [Hit(graph, graph.nodes[key], len(wanted), title=True) for graph in graphs
             if (key := query.strip()) in graph.nodes]  # fmt: skip
    named = {(hit.graph.key, hit.node.id) for hit in exact}
    return [*exact, *(hit for hit in hits if (hit.graph.key, hit.node.id) not in named)][:most]


def _show(draft: Draft, session: Session | None, hits: list[Hit]) -> None:
    size = len(str(draft.text))
    for rank, hit in enumerate(hits):
        if rank == SEARCH_TOP:
            draft.say("MORE MATCHES:")
        piece = _block(session, hit) if rank < SEARCH_TOP else _one_line(hit)
        size += sum(charge(line) for line in piece.lines)
        if size > SEARCH_CHARS and rank:
            break
        draft.text.extend(piece)


def _gist(hit: Hit) -> tuple[str, list[list[object]]]:
    """A gist, and the view that it grants when it is whole."""
    gist = shown(hit.node.gist)
    if len(gist) > HIT_GIST_CHARS:
        return f"{gist[:HIT_GIST_CHARS]}…", []
    return gist, [["seen", hit.graph.key, hit.node.id, hit.node.content_seq, "search"]]


def _block(session: Session | None, hit: Hit) -> Text:
    node, text = hit.node, Text()
    known = session is not None and session.in_context((hit.graph.key, node.id))
    standing = [hit.graph.level, *([node.tier] if node.tier != "active" else [])]
    standing += [*(["locked"] if node.locked else []), *(["seen"] if known else [])]
    text.add(f"▸ {node.id} ({', '.join(standing)})")
    gist, view = _gist(hit)
    text.add(f"gist: {gist}", *view)
    for note in () if known else node.notes:
        add_note(text, note)
    return text


def _one_line(hit: Hit) -> Text:
    text = Text()
    gist, view = _gist(hit)
    text.add(f"  {hit.node.id} ({hit.graph.level}): {gist}", *view)
    return text
