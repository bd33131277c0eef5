"""kg_search: what lies below the surface, by words."""

from kg.commands import Search
from kg.decide.draft import Draft
from kg.decide.news import add_news
from kg.delivery import Text
from kg.errors import refuse
from kg.graph import Graph
from kg.harness import row_of
from kg.limits import HIT_GIST_CHARS, QUERY_SHOWN_CHARS, SEARCH_CHARS, SEARCH_MORE, SEARCH_TOKENS, SEARCH_TOP
from kg.render import add_note
from kg.search import Hit, matches
from kg.sessions import Session
from kg.text import longest_prefix, normal, quoted, shown
from kg.tokens import tokens

MORE_MATCHES = "MORE MATCHES:"


def search(draft: Draft, command: Search) -> None:
    """Answer with the best hits of the session's graphs, or of the user graph when nobody says who asks."""
    session = draft.require_session(command.session_id) if command.session_id else None
    if session is not None:
        draft.emit("session_active", session=session.id)
    graphs = _graphs(draft, session, command)
    query = quoted(command.query, QUERY_SHOWN_CHARS)
    wanted = list(dict.fromkeys(tokens(command.query)))
    hits = _hits(graphs, command.query, wanted[:SEARCH_TOKENS])
    if hits:
        where = ", ".join("user" if graph.slug is None else f"project {graph.slug}" for graph in graphs)
        head = f'Found {len(hits)} for "{query}" ({where})'
    else:
        head = f'Nothing found for "{query}".' if wanted else "Nothing to search for: the query has no word."
    if len(wanted) > SEARCH_TOKENS:
        draft.say(f"Note: only the first {SEARCH_TOKENS} words of the query were used.")
    if session is None and command.level is None:
        draft.say("Note: this is the user graph only; a session_id (from kg_read(cwd=...)) includes a project.")
    if session is not None:
        add_news(draft, session)
    tail, draft.text = draft.text, Text([head])
    _show(draft, session, hits, tail)
    draft.text.extend(tail)


def _graphs(draft: Draft, session: Session | None, command: Search) -> list[Graph]:
    if command.level == "project" and session is None:
        raise refuse("unknown-session", "the project level needs a session_id")
    if command.level:
        return [draft.graph_of(session, command.level) if session else draft.readable(command.level)]
    keys = session.search_order() if session else ("user",)
    return [draft.world.graph(key) for key in keys if key not in draft.world.unreadable]


def _hits(graphs: list[Graph], query: str, wanted: list[str]) -> list[Hit]:
    most = SEARCH_TOP + SEARCH_MORE
    hits = [hit for graph in graphs for hit in matches(graph, wanted, most=most)]
    hits.sort(key=lambda hit: (-hit.matched, not hit.title, hit.graph.key == "user", hit.node.id))
    exact = [Hit(graph, graph.nodes[key], len(wanted), title=True) for graph in graphs
             if (key := normal(query.strip(), "NFC")) in graph.nodes]  # fmt: skip
    named = {(hit.graph.key, hit.node.id) for hit in exact}
    return [*exact, *(hit for hit in hits if (hit.graph.key, hit.node.id) not in named)][:most]


def _show(draft: Draft, session: Session | None, hits: list[Hit], tail: Text) -> None:
    """The hits, as many as fit: further ones go first, then the notes of the last blocks; the first gists stay."""
    row = row_of(draft.caller.harness)

    def fits() -> bool:
        lines = [*draft.text.lines, *(line for piece in (*blocks, *notes, *more) for line in piece.lines), *tail.lines]
        whole = "\n".join(lines)
        return len(whole) <= SEARCH_CHARS and row.part_measure(whole) <= row.part_limit

    blocks = [_block(session, hit) for hit in hits[:SEARCH_TOP]]
    notes = [_notes(session, hit) for hit in hits[:SEARCH_TOP]]
    more = [_one_line(hit) for hit in hits[SEARCH_TOP:]]
    if more:
        more.insert(0, Text([MORE_MATCHES]))
    while more and not fits():
        more.pop()
    if len(more) == 1:
        more.clear()
    for number in reversed(range(len(notes))):
        if not fits():
            notes[number] = Text()
    for block, own in zip(blocks, notes, strict=True):
        draft.text.extend(block)
        draft.text.extend(own)
    for line in more:
        draft.text.extend(line)


def _gist(hit: Hit) -> tuple[str, list[list[object]]]:
    """A gist, and the view that it grants when it is whole."""
    gist = shown(hit.node.gist)
    if len(gist) > HIT_GIST_CHARS:
        return f"{longest_prefix(gist, HIT_GIST_CHARS, len)}…", []
    return gist, [["seen", hit.graph.key, hit.node.id, hit.node.content_seq, "search"]]


def _block(session: Session | None, hit: Hit) -> Text:
    node, text = hit.node, Text()
    known = session is not None and session.in_context((hit.graph.key, node.id))
    standing = [hit.graph.level, *([node.tier] if node.tier != "active" else [])]
    standing += [*(["locked"] if node.locked else []), *(["seen"] if known else [])]
    text.add(f"▸ {node.id} ({', '.join(standing)})")
    gist, view = _gist(hit)
    text.add(f"gist: {gist}", *view)
    return text


def _notes(session: Session | None, hit: Hit) -> Text:
    """The notes of a node that this session has not in front of it."""
    text = Text()
    if session is None or not session.in_context((hit.graph.key, hit.node.id)):
        for note in hit.node.notes:
            add_note(text, note)
    return text


def _one_line(hit: Hit) -> Text:
    text = Text()
    gist, view = _gist(hit)
    text.add(f"  {hit.node.id} ({hit.graph.level}): {gist}", *view)
    return text
