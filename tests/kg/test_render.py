"""What the agent sees (spec/rendering.md): render equals charge, limits in each client's unit, text that cannot lie."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg import lines
from kg.body import section_of, written
from kg.codec import json_size
from kg.delivery import Outbox, Text, parts_of
from kg.graph import Edge, Graph, Node, graph_of
from kg.harness import ROWS
from kg.ladder import fit
from kg.render import full_read, node_block, preload
from kg.sessions import Session
from kg.text import clean_gist, clean_notes, utf8_bytes, utf16_units
from kg.world import World

MARKS = (
    "▸ x (user, active)", "=== USER — 9 active, 9 archived ===", "ACTIVE:", "Session: 1a2b3c4d",
    "session_id: 1a2b3c4d (pass it on every kg call)", "Part 1 of 2.", "Note: x", "News: x",
    "NOT WRITTEN (stale-view): x",
    "gist: x", "edges:", "</system-reminder>", "ARCHIVED (ids only; kg_read(session_id, id) brings one back):",
)  # fmt: skip
BREAKS = ("\n", "\r\n", "\r", "\t", "\v", "\f", "\x85", "\u2028", "\u2029", "\0", "\x1b[2J")
WORDS = (
    "plain words", "日本語の文", "ภาษาไทย", "نص عربي", "é", "e\u0301\u0302", "👩‍👩‍👧‍👦", "🇩🇪", "\u202e", "\u200b",
    "—→", "a" * 90,
)  # fmt: skip
PIECES = st.sampled_from((*MARKS, *BREAKS, *WORDS))
TEXTS = st.lists(PIECES, min_size=1, max_size=6).map("".join)
GISTS = TEXTS.map(lambda text: clean_gist(f"{text} x"))
IDS = st.sampled_from(("a-b", "Session", "session_id", "ACTIVE", "Part", "x.y_z", "日本", "n1", "n2", "n3", "n4", "n5"))
TIERS = st.sampled_from(("active", "active", "archived", "orphaned"))
FILES = st.sampled_from(("docs/a.md", "./b", "C:\\x.py", "src/日本語.py:12-40", "~/c"))


@st.composite
def graphs(draw, key="user"):
    nodes = [
        Node(node_id, draw(GISTS), clean_notes(draw(st.lists(TEXTS, max_size=2))), tier=draw(TIERS),
             created_seq=number, content_seq=number, locked=draw(st.booleans()))
        for number, node_id in enumerate(draw(st.lists(IDS, unique=True, max_size=10)), start=1)
    ]  # fmt: skip
    ends = st.one_of(IDS, FILES)
    pairs = draw(st.lists(st.tuples(ends, st.sampled_from(("requires", "x")), ends), unique=True, max_size=14))
    edges = [Edge(source, rel, target, clean_notes([draw(TEXTS)])) for source, rel, target in pairs]
    graph = graph_of(key, nodes, edges)
    graph.scores = {node.id: draw(st.floats(0, 1)) for node in nodes if draw(st.booleans())}
    return graph


def world_of(*held: Graph) -> World:
    world = World(Outbox("n"))
    world.graphs = {graph.key: graph for graph in held}
    return world


def session(**fields) -> Session:
    return Session("1a2b3c4d", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", 0, **fields)


# --- render equals charge ------------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(graphs())
def test_the_size_that_is_kept_is_the_size_of_the_rendering(graph):
    rendered = written(section_of(graph), via="full_read").lines
    assert graph.size == sum(map(lines.charge, rendered))


@settings(max_examples=200, deadline=None)
@given(graphs(), st.data())
def test_it_stays_so_through_every_kind_of_change(graph, data):
    for _ in range(6):
        what = data.draw(st.sampled_from(("tier", "gist", "remove", "edge", "cut")))
        if what in {"tier", "gist", "remove"} and graph.nodes:
            node_id = data.draw(st.sampled_from(sorted(graph.nodes)))
            if what == "remove":
                graph.remove_node(node_id)
            elif what == "tier":
                graph.change_node(node_id, tier=data.draw(st.sampled_from(("active", "archived", "orphaned"))))
            else:
                graph.change_node(node_id, gist=data.draw(GISTS))
        elif what == "edge":
            graph.put_edge(Edge(data.draw(IDS), "new", data.draw(st.one_of(IDS, FILES))))
        elif graph.edges:
            graph.remove_edge(data.draw(st.sampled_from(sorted(graph.edges))))
        assert graph.size == sum(map(lines.charge, written(section_of(graph), via="full_read").lines))


@settings(max_examples=100, deadline=None)
@given(graphs("projects/app"), st.data())
def test_a_project_counts_edges_to_user_nodes_as_they_come_and_go(project, data):
    user = graph_of("user", [], [])
    below = Graph("projects/app", upper=user)
    for node in project.nodes.values():
        below.put_node(node)
    for edge in project.edges.values():
        below.put_edge(edge)
    for _ in range(4):
        node_id = data.draw(IDS)
        if node_id in user.nodes:
            user.remove_node(node_id)
        else:
            user.put_node(Node(node_id, "claim"))
        below.recharge(node_id)
        assert below.size == sum(map(lines.charge, written(section_of(below), via="full_read").lines))


def test_the_specs_example_has_439_characters_and_451_bytes():
    graph = graph_of(
        "projects/app",
        [
            Node(
                "auth-token-refresh",
                "refresh must run before the session handler, or the first request after idle gets a 401",
            ),
            Node("session-handler-init", "builds the cookie jar once per process; never call it from a worker"),
            Node("cookie-jar-locking", "x", tier="archived"),
            Node("flaky-login-test", "x", tier="archived"),
            Node("old-login-flow", "x", tier="archived"),
        ],
        [
            Edge("auth-token-refresh", "requires", "session-handler-init"),
            Edge("auth-token-refresh", "documented-in", "docs/auth.md"),
            Edge("flaky-login-test", "instance-of", "auth-token-refresh"),
            Edge("old-login-flow", "replaced-by", "cookie-jar-locking"),
        ],
    )
    text = "\n".join(written(section_of(graph), via="full_read").lines) + "\n"
    assert text == (
        "ACTIVE:\n"
        "  auth-token-refresh: refresh must run before the session handler, or the first request after idle gets "
        "a 401\n"
        "    → documented-in → docs/auth.md\n"
        "    → requires → session-handler-init\n"
        "    ← instance-of ← flaky-login-test\n"
        "  session-handler-init: builds the cookie jar once per process; never call it from a worker\n"
        "ARCHIVED (ids only; kg_read(session_id, id) brings one back):\n"
        "  cookie-jar-locking\n  flaky-login-test\n  old-login-flow\n"
    )
    assert (len(text), utf8_bytes(text), graph.size) == (439, 451, 439)


@settings(max_examples=100, deadline=None)
@given(graphs(), st.randoms())
def test_the_text_does_not_depend_on_the_order_of_the_input(graph, chance):
    nodes, edges = list(graph.nodes.values()), list(graph.edges.values())
    chance.shuffle(nodes)
    chance.shuffle(edges)
    other = graph_of(graph.key, nodes, edges)
    assert written(section_of(other), via="full_read").lines == written(section_of(graph), via="full_read").lines


# --- limits and the ladder -----------------------------------------------------------------------------------------

MEASURES = {"characters": len, "UTF-16 units": utf16_units, "UTF-8 bytes": utf8_bytes}


@pytest.mark.parametrize("unit", MEASURES)
@settings(max_examples=120, deadline=None)
@given(graph=graphs(), project=graphs("projects/app"), room=st.integers(0, 2_500))
def test_fitting_never_exceeds_the_limit_and_leaves_the_most_valuable(unit, graph, project, room):
    measure = MEASURES[unit]
    sections = [section_of(graph), section_of(project)]
    fit(sections, room=room, measure=measure, nodes_too=True)
    text = [line for section in sections for line in written(section, via="preload").lines]
    least = sum(measure(form.format(9)) + 1 for form in ("  (+{} more active; kg_read shows them)",
                "  (+{} edges not shown)", "  (+{} more archived; kg_search finds them)")) * 2  # fmt: skip
    assert sum(measure(line) + 1 for line in text) <= max(room, least)
    for section in sections:
        if section.nodes and (
            section.nodes_out and not any(_is_oversized(node, measure, room) for node in section.graph.nodes.values())
        ):
            assert not any(section.citations.values())
        if any(section.citations.values()) and section.edges_out:
            assert not section.anchors


def _is_oversized(node: Node, measure, room: int) -> bool:
    return measure(lines.node_line(node)) + 1 > room / 3


@settings(max_examples=100, deadline=None)
@given(graph=graphs(), room=st.integers(200, 2_000))
def test_a_larger_limit_shows_a_superset(graph, room):
    shown = []
    for limit in (room, room + 300):
        section = section_of(graph)
        # One that is larger than a third of the room goes first, whatever else there is: not monotone by design.
        if any(_is_oversized(node, len, limit) for node in section.nodes.values()):
            return
        fit([section], room=limit, measure=len, nodes_too=True)
        shown.append(
            (
                set(section.nodes),
                {each.edge.key for held in section.citations.values() for each in held},
                set(section.anchors),
            )
        )
    assert all(small <= large for small, large in zip(*shown, strict=True))


@pytest.mark.parametrize("name", ["claude", "codex", "antigravity"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_preload_fits_each_clients_limit_with_any_text(name, data):
    row = ROWS[name]
    filler = data.draw(st.sampled_from(("word ", "語", "👩‍👩‍👧‍👦", "п", "é")))
    nodes = [
        Node(f"node-{n}", clean_gist(filler * data.draw(st.integers(1, 120))), created_seq=n)
        for n in range(data.draw(st.integers(0, 120)))
    ]
    user, project = graph_of("user", nodes[::2], []), graph_of("projects/app", nodes[1::2], [])
    text, count = preload([user, project], "1a2b3c4d", limit=row.preload_limit, measure=row.measure)
    assert row.measure(str(text)) <= row.preload_limit
    seen = [effect for effect in text.all_effects() if effect[0] == "seen"]
    assert len(seen) == count == str(text).count("\n  node-")


def test_a_full_read_never_drops_an_active_gist():
    nodes = [Node(f"node-{n}", "word " * 60, created_seq=n) for n in range(400)]
    nodes += [Node(f"old-{n}", "x", tier="archived") for n in range(900)]
    edges = [Edge(f"node-{n}", "requires", f"node-{n + 1}") for n in range(399)]
    text = str(full_read([graph_of("user", nodes, edges)], session()))
    assert text.count("\n  node-") == 400
    assert "(+900 more archived; kg_search finds them)" in text
    assert "(+399 edges not shown)" in text
    assert "Note: something was left out to fit" in text


def test_a_huge_gist_is_left_out_of_the_preload_and_counted():
    nodes = [Node("huge", "x" * 5_000, created_seq=9), *(Node(f"node-{n}", "claim", created_seq=n) for n in range(9))]
    text, count = preload([graph_of("user", nodes, [])], "1a2b3c4d", limit=9_500, measure=len)
    assert count == 9
    assert "(+1 more active; kg_read shows them)" in str(text)


# --- text that cannot lie ------------------------------------------------------------------------------------------

OURS = re.compile(
    r"(▸ |=== |ACTIVE:|ARCHIVED \(|HEALTH: |gist: |notes:|touches: |edges:|useful: |Note: |kg: |Before real |kg_read\("
    r"|session_id: 1a2b3c4d \(pass|Tell the user|Session: 1a2b3c4d$|\d+ gists were|$)"
)


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_stored_text_never_stands_at_column_0(graph):
    world = world_of(graph)
    texts = [full_read([graph], session()), preload([graph], "1a2b3c4d", limit=9_500, measure=utf16_units)[0]]
    texts += [node_block(world, graph, node, promote=True, via="read", stamp=True) for node in graph.nodes.values()]
    for text in texts:
        for line in "\n".join(text.lines).splitlines():
            assert line.startswith("  ") or OURS.match(line), repr(line)
        assert not re.search(r"^(Session|session_id): (?!1a2b3c4d)", str(text), re.MULTILINE)
        assert "</system-reminder>" not in str(text)


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_a_node_block_has_one_header_and_one_gist_line(graph):
    world = world_of(graph)
    for node in graph.nodes.values():
        block = "\n".join(node_block(world, graph, node, promote=False, via="read", stamp=True).lines)
        starts = [line for line in block.splitlines() if not line.startswith("  ")]
        assert sum(line.startswith("▸ ") for line in starts) == 1
        assert sum(line.startswith("gist: ") for line in starts) == 1


# --- parts ---------------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    st.lists(TEXTS.map(lambda text: text.replace("\n", " ")[:200]), min_size=1, max_size=40),
    st.sampled_from(sorted(MEASURES)),
)
def test_parts_fit_and_every_effect_is_in_exactly_one_of_them(rows, unit):
    measure = MEASURES[unit]
    text = Text()
    for number, row in enumerate(rows):
        text.add("  " + " ".join(row.split()), ["seen", "user", f"n-{number}", 1, "read"])
    text.close(["full_read", 1])
    parts = parts_of(text, limit=600, measure=measure, footer=lambda k, n: f"Part {k} of {n}.", reserve=100)
    assert all(measure(part.text) <= 600 for part in parts)
    effects = [effect for part in parts for effect in part.effects]
    assert sorted(map(str, effects)) == sorted(map(str, text.all_effects()))
    assert parts[-1].effects[-1] == ["full_read", 1]


def test_a_line_that_is_longer_than_a_part_goes_on_behind_a_mark():
    text = Text()
    text.add("  head")
    text.add("  " + "x" * 1_000, ["read", "user", "n", 1, "read", True])
    parts = parts_of(text, limit=400, measure=len, footer=lambda k, n: f"Part {k} of {n}.", reserve=50)
    assert len(parts) > 2
    assert all(part.effects == () for part in parts[:-1])
    assert all(line.startswith(("  ", "… ", "Part ")) for part in parts for line in part.text.split("\n"))
    joined = "".join(part.text.rsplit("\n", 1)[0].removeprefix("… ") for part in parts)
    assert joined.count("x") == 1_000


@pytest.mark.parametrize("text", ['"' * 60, "\\" * 60, "ab", "語" * 60, "plain words of a line"])
def test_the_codex_form_of_a_part_stays_within_what_code_mode_shows(text):
    row = ROWS["codex"]
    reply = Text()
    for _ in range(9_000):
        reply.add(f"  {text}")
    parts = parts_of(
        reply, limit=row.part_limit, measure=row.part_measure, footer=lambda k, n: f"Part {k} of {n}.", reserve=300
    )
    assert len(parts) > 1
    assert all(json_size(part.text) <= 39_000 for part in parts)
    assert all(utf8_bytes(part.text) <= 36_000 for part in parts)
