import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.codec import from_json, graph_pieces
from kg.errors import DocumentInvalid
from kg.graph import Graph, graph_of
from kg.graphfile import BOM, graph_meta, parse_graph
from kg.limits import FORMAT
from kg.table import load_table, table_document
from tests.kg.peer import Peer, file_of, state_of

TIME = "2026-03-02T09:15:02.114Z"


def base():
    return {
        "meta": {
            "format": FORMAT,
            "seq": 9,
            "namespace": {"kind": "project", "owner": None},
            "root": "/home/ada/app",
            "progress": {"port": {"step": 1, "last": TIME, "trail": []}},
        },
        "nodes": {
            "auth-token": {
                "gist": "refresh first",
                "notes": ["why", "two\nlines"],
                "touches": ["src/a.py:1-2"],
                "tier": "active",
                "created": TIME,
                "created_seq": 3,
                "content_seq": 5,
                "by": "1a2b3c4d",
            },
            "v1.2_x": {
                "gist": "сессия — «ü»",
                "notes": [],
                "touches": [],
                "tier": "orphaned",
                "created": TIME,
                "created_seq": 4,
                "content_seq": 4,
                "by": "file",
                "author": "1a2b3c4d",
                "used": TIME,
                "read": TIME,
                "useful": [TIME],
                "credited": [TIME],
                "recurrences": [7],
                "gist_changes": [TIME],
                "orphaned": TIME,
            },
        },
        "edges": [
            {"from": "auth-token", "rel": "in", "to": "src/a b.py", "notes": ["x"], "seq": 6, "by": "1a2b3c4d"},
            {"from": "v1.2_x", "rel": "requires", "to": "auth-token", "seq": 7, "by": "file"},
        ],
    }


def written(document):
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def saved(document):
    """The bytes that kg writes for what it read."""
    graph = Graph("projects/app", root=document.root)
    graph.seq, graph.progress, graph.extra = document.seq, dict(document.progress), document.extra
    for node in document.nodes.values():
        graph.put_node(node)
    for edge in document.edges.values():
        graph.put_edge(edge)
    return bytes_of(graph)


def bytes_of(graph):
    nodes = [graph.nodes[node_id] for node_id in sorted(graph.nodes)]
    edges = [graph.edges[key] for key in sorted(graph.edges)]
    return b"".join(graph_pieces(graph_meta(graph), nodes, edges))


def refused(change):
    """How a file is refused after this change of its document."""
    document = base()
    change(document)
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(written(document))
    return caught.value


# --- round trips (I29) ---------------------------------------------------------------------------------------------


def test_a_file_loads_to_the_same_graph_and_saves_to_the_same_bytes():
    data = written(base())
    assert saved(parse_graph(data)) == data
    assert saved(parse_graph(data, ours=True)) == data


def test_optional_fields_are_left_out_when_empty_and_lists_are_not():
    document = base()
    node = document["nodes"]["auth-token"]
    assert list(from_json(saved(parse_graph(written(document))))["nodes"]["auth-token"]) == list(node)
    node["locked"] = True
    assert b'"locked": true' in saved(parse_graph(written(document)))


def test_keys_that_kg_does_not_know_are_kept_in_nodes_edges_and_meta():
    document = base()
    extra = {"colour": "red", "deep": {"list": [1, 2.5, None, True, {"x": "ü"}]}}
    document["nodes"]["auth-token"] |= extra
    document["edges"][1] |= extra
    document["meta"] |= extra
    data = written(document)
    assert saved(parse_graph(data)) == data


def test_an_empty_graph_round_trips():
    data = bytes_of(graph_of("user", [], []))
    assert saved(parse_graph(data)).replace(b'"kind": "project"', b'"kind": "user"') == data


IDS = st.from_regex(r"[a-zäж][a-z0-9_.-]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text.strip() == text)


@given(
    st.dictionaries(
        IDS, st.tuples(TEXTS, st.lists(TEXTS, max_size=3), st.sampled_from(["active", "archived"])), max_size=6
    ),
    st.lists(st.tuples(IDS, IDS, st.one_of(IDS, st.just("src/a b.py"))), max_size=6),
)
def test_any_graph_that_the_tools_could_write_round_trips(nodes, edges):
    peer = Peer()
    sid = peer.open()
    for node_id, (gist, notes, tier) in nodes.items():
        peer.put(sid, node_id, gist, notes)
        if node_id in peer.graph().nodes:
            peer.emit("tiers_moved", graph="projects/app", moves=[{"id": node_id, "to": tier}])
    for source, rel, target in edges:
        peer.edge(sid, source, rel, target, [source])
    data = file_of(peer.world, "projects/app")
    document = parse_graph(data)
    assert saved(document) == data
    assert document.nodes == peer.graph().nodes
    assert document.edges == peer.graph().edges
    assert parse_graph(data, ours=True) == document


def test_the_session_file_round_trips():
    peer = Peer()
    sid, other = peer.open(), peer.open()
    peer.put(other, "a", "g", ["n" * 60_000])
    peer.put(other, "b")
    peer.read(sid, "a")
    peer.edge(sid, "a", "r", "src/x.py", ["n"])
    peer.useful(sid, "b")
    peer.start("startup", "c1")
    peer.start("fork", "c2", transcript_session=peer.world.clients["claude", "c1"])
    document = from_json(file_of(peer.world, "sessions"))
    assert document["deliveries"]
    world = Peer().world
    load_table(world, document)
    assert table_document(world, clean_seq=0) == document
    assert world.sessions == peer.world.sessions
    assert world.clients == peer.world.clients


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ops", "3"),
        ("started", 5),
        ("maintenance", 1),
        ("views", []),
        ("project", 7),
        ("full_read_seq", "x"),
        ("votes", None),
    ],
)
def test_a_session_record_of_the_wrong_shape_is_refused_at_once(name, value):
    peer = Peer()
    sid = peer.open()
    document = from_json(file_of(peer.world, "sessions"))
    document["sessions"][sid][name] = value
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        load_table(Peer().world, document)


# --- what a person's editor does -----------------------------------------------------------------------------------


def test_a_byte_order_mark_and_crlf_change_nothing():
    data = written(base())
    for other in (BOM + data, data.replace(b"\n", b"\r\n"), BOM + data.replace(b"\n", b"\r\n")):
        assert parse_graph(other) == parse_graph(data)


def test_another_layout_and_escapes_are_read():
    document = base()
    assert parse_graph(json.dumps(document).encode()) == parse_graph(written(document))


def test_missing_optional_fields_are_filled():
    document = base()
    document["nodes"] = {"a": {"gist": "g"}}
    document["edges"] = [{"from": "a", "rel": "r", "to": "b"}]
    document["meta"] = {}
    node = parse_graph(written(document)).nodes["a"]
    assert (node.notes, node.touches, node.tier, node.created_seq) == ((), (), "active", 0)


def test_texts_go_through_the_same_door_as_those_of_the_tools():
    document = base()
    document["nodes"]["auth-token"] |= {"gist": " two\nlines\x1b ", "notes": ["a\x00b", " "], "touches": ["src/a.py\n"]}
    document["edges"][0]["notes"] = ["\x07x"]
    parsed = parse_graph(written(document))
    node = parsed.nodes["auth-token"]
    assert (node.gist, node.notes, node.touches) == ("two lines", ("ab",), ("src/a.py",))
    assert parsed.edges["auth-token", "in", "src/a b.py"].notes == ("x",)


def test_lone_surrogates_are_replaced_wherever_they_stand():
    data = (
        written(base()).replace(b'"refresh first"', rb'"bad \ud800 end"').replace(b'"by": "file"', rb'"by": "\udfff"')
    )
    data = data.replace(b'"step": 1', rb'"step": ["\ud800"]')
    document = parse_graph(data)
    assert document.nodes["auth-token"].gist == "bad \ufffd end"
    assert json.loads(saved(document))["meta"]["progress"]["port"]["step"] == ["\ufffd"]


def test_an_id_is_normalised():
    document = base()
    document["nodes"]["cafe\u0301"] = document["nodes"].pop("auth-token")
    assert "caf\u00e9" in parse_graph(written(document)).nodes


# --- what is refused, with line and key ----------------------------------------------------------------------------

NODE = ("nodes", "auth-token")
WRONG = [
    ((*NODE, "gist"), None),
    ((*NODE, "gist"), ""),
    ((*NODE, "gist"), " \n"),
    ((*NODE, "gist"), 5),
    ((*NODE, "notes"), None),
    ((*NODE, "notes"), "why"),
    ((*NODE, "notes"), [1]),
    ((*NODE, "touches"), {}),
    ((*NODE, "touches"), ["x" * 401]),
    ((*NODE, "notes"), ["n"] * 201),
    ((*NODE, "tier"), "gone"),
    ((*NODE, "tier"), None),
    ((*NODE, "created"), "yesterday"),
    ((*NODE, "created"), "2026-03-02"),
    ((*NODE, "created_seq"), -1),
    ((*NODE, "created_seq"), 1.5),
    ((*NODE, "created_seq"), True),
    ((*NODE, "content_seq"), "5"),
    ((*NODE, "by"), None),
    ((*NODE, "used"), "soon"),
    ((*NODE, "useful"), ["soon"]),
    ((*NODE, "useful"), TIME),
    ((*NODE, "recurrences"), [-1]),
    ((*NODE, "locked"), "yes"),
    ((*NODE, "locked"), 1),
    ((*NODE, "colour"), 2**64),
    ((*NODE, "author"), None),
]


@pytest.mark.parametrize(("path", "value"), WRONG, ids=lambda part: str(part)[-30:])
def test_a_wrong_value_in_a_node_is_named_with_line_and_key(path, value):
    document = base()
    document["nodes"]["auth-token"].setdefault(path[-1], TIME)
    document["nodes"]["auth-token"][path[-1]] = value
    data = written(document)
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(data)
    assert path[-1] in str(caught.value.key)
    assert f'"{path[-1]}"' in data.decode().splitlines()[caught.value.line - 1]


def test_the_line_is_that_of_the_right_node():
    document = base()
    document["nodes"]["v1.2_x"]["gist"] = None
    data = written(document)
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(data)
    assert caught.value.key == "v1.2_x.gist"
    assert '"gist": null' in data.decode().splitlines()[caught.value.line - 1]


def test_a_field_that_is_missing_is_named_with_the_line_of_its_node():
    document = base()
    del document["nodes"]["v1.2_x"]["gist"]
    data = written(document)
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(data)
    assert '"v1.2_x"' in data.decode().splitlines()[caught.value.line - 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("from", None),
        ("rel", ""),
        ("rel", "a b"),
        ("to", "a b"),
        ("to", 5),
        ("notes", "x"),
        ("notes", [None]),
        ("seq", -1),
        ("seq", "7"),
        ("by", 7),
    ],
)
def test_a_wrong_value_in_an_edge_is_named_with_line_and_key(name, value):
    document = base()
    document["edges"][1][name] = value
    data = written(document)
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(data)
    assert caught.value.key == f"edges[1].{name}"
    lines = data.decode().splitlines()
    assert f'"{name}"' in lines[caught.value.line - 1]
    assert caught.value.line > next(n for n, line in enumerate(lines) if '"edges"' in line) + 7


def test_an_edge_without_rel_is_named_with_the_line_where_it_begins():
    document = base()
    del document["edges"][1]["rel"]
    error = refused(lambda document: document["edges"][1].pop("rel"))
    lines = written(document).decode().splitlines()
    assert error.key == "edges[1].rel"
    assert lines[error.line - 1].strip() == "{"
    assert "v1.2_x" in lines[error.line]


@pytest.mark.parametrize("node_id", ["no id", "a/b", "", "x" * 129, "<b>", "a\u202eb"])
def test_a_bad_id_is_refused(node_id):
    def change(document):
        document["nodes"][node_id] = document["nodes"].pop("auth-token")

    assert refused(change).line is not None


def set_meta(name, value):
    return lambda document: document["meta"].__setitem__(name, value)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (set_meta("format", FORMAT + 1), "newer kg"),
        (set_meta("format", "1"), "newer kg"),
        (set_meta("seq", -1), "whole number"),
        (set_meta("seq", None), "whole number"),
        (set_meta("root", 5), "path"),
        (set_meta("progress", []), "object"),
        (set_meta("progress", {"t": 1}), "object"),
        (lambda document: document.__setitem__("meta", []), "object"),
        (lambda document: document.__setitem__("nodes", []), "object"),
        (lambda document: document.__setitem__("edges", {}), "list"),
        (lambda document: document.pop("nodes"), "object"),
        (lambda document: document.__setitem__("more", 1), "no part"),
    ],
)
def test_a_wrong_frame_is_refused(change, word):
    assert word in refused(change).cause


@pytest.mark.parametrize("data", [b"", b"  \n", b"null", b"[]", b"5", b'"text"', BOM])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(data)
    assert caught.value.line == 1


def test_a_file_that_ends_early_is_refused_with_its_line_wherever_it_ends():
    data = written(base()).rstrip()
    for offset in range(1, len(data), 17):
        with pytest.raises(DocumentInvalid) as caught:
            parse_graph(data[:offset])
        assert caught.value.line is not None


@pytest.mark.parametrize(
    ("old", "new", "line_has"),
    [
        (b'"refresh first"', b'"refresh \xe9"', "refresh"),
        (b'"seq": 9', b'"seq": NaN', "seq"),
        (b'"seq": 9', b'"seq": -Infinity', "seq"),
        (b'"seq": 9', b'"seq": 9 9', "seq"),
    ],
)
def test_bytes_that_are_no_json_are_refused_with_their_line(old, new, line_has):
    data = written(base()).replace(old, new, 1)
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(data)
    assert line_has in data.decode("latin-1").splitlines()[caught.value.line - 1]


def test_bytes_after_the_json_are_refused():
    with pytest.raises(DocumentInvalid):
        parse_graph(written(base()) + b"}")


@pytest.mark.parametrize("marker", [b"<<<<<<< HEAD", b"=======", b">>>>>>> other", b"<<<<<<< HEAD\r"])
def test_merge_markers_are_called_by_their_name(marker):
    data = written(base()).replace(b'  "nodes"', marker + b'\n  "nodes"')
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(data)
    assert "merge" in caught.value.cause
    assert data.splitlines()[caught.value.line - 1].startswith(marker[:7])


@pytest.mark.parametrize(
    ("old", "again", "key"),
    [
        (b'"gist": "refresh first"', b'"gist": "x",\n"gist": "refresh first"', "gist"),
        (b'"edges": [', b'"auth-token": {},\n"edges": [', None),
        (b'"v1.2_x": {', b'"auth-token": {"gist": "x"},\n"v1.2_x": {', "auth-token"),
        (b'"rel": "requires"', b'"rel": "x",\n"rel": "requires"', "rel"),
        (b'"format": 1', b'"format": 1,\n"format": 1', "format"),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_the_line_of_its_second_place(old, again, key):
    data = written(base()).replace(old, again, 1)
    assert data != written(base())
    with pytest.raises(DocumentInvalid) as caught:
        parse_graph(data)
    if key is not None:
        lines = data.decode().splitlines()
        assert caught.value.key == key
        assert f'"{key}"' in lines[caught.value.line - 1]
        assert any(f'"{key}"' in line for line in lines[: caught.value.line - 1])


def test_two_ids_that_are_one_after_normalising_are_refused():
    def change(document):
        node = document["nodes"].pop("auth-token")
        document["nodes"] |= {"caf\u00e9": node, "cafe\u0301": deepcopy(node)}

    assert "two nodes" in refused(change).cause


def test_two_edges_of_one_key_are_refused_with_the_line_of_the_second():
    error = refused(lambda document: document["edges"].append(dict(document["edges"][0])))
    assert error.key == "edges[2]"
    assert error.line is not None


@pytest.mark.parametrize("depth", [100, 5000, 200_000])
def test_deep_nesting_is_refused_and_exhausts_no_stack(depth):
    data = written(base()).replace(b'"step": 1', b'"step": ' + b"[" * depth + b"]" * depth)
    with pytest.raises(DocumentInvalid):
        parse_graph(data)


@pytest.mark.parametrize("number", [b"1e999", b"18446744073709551616", b"9" * 5000])
def test_numbers_that_no_file_could_hold_again_are_refused(number):
    with pytest.raises(DocumentInvalid):
        parse_graph(written(base()).replace(b'"step": 1', b'"step": ' + number))


def test_a_refused_file_leaves_nothing_half_done():
    peer = Peer()
    before = state_of(peer.world)
    with pytest.raises(DocumentInvalid):
        parse_graph(b"{}")
    assert state_of(peer.world) == before
