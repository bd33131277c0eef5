import pytest

from kg.limits import FILE_MAX_CHARS
from tests.kg.peer import APP, OTHER, edges_of, state_of

# --- create and update ---------------------------------------------------------------------------------------------


def test_an_edge_is_new_then_updated_then_unchanged(peer, s):
    peer.put(s, "a")
    peer.put(s, "b")
    first = peer.edge(s, "a", "requires", "b")
    assert first.text == f"Saved: project edge a --requires--> b (new) seq {first.seq}"
    second = peer.edge(s, "a", "requires", "b", ["why"])
    assert second.text == f"Saved: project edge a --requires--> b (updated) seq {second.seq}"
    for notes in (None, ["why"]):
        assert f"(unchanged) seq {second.seq}" in peer.edge(s, "a", "requires", "b", notes).text
    edge = peer.graph().edges["a", "requires", "b"]
    assert (edge.notes, edge.seq, edge.by) == (("why",), second.seq, s)


def test_sent_notes_replace_and_an_empty_list_empties(peer, s):
    peer.edge(s, "a", "requires", "b", ["one", "two"])
    peer.edge(s, "a", "requires", "b", ["three"])
    assert peer.graph().edges["a", "requires", "b"].notes == ("three",)
    peer.edge(s, "a", "requires", "b", [])
    assert peer.graph().edges["a", "requires", "b"].notes == ()


def test_unknown_keys_of_an_edge_survive_an_update(peer, s):
    edge = {"from": "a", "rel": "requires", "to": "b", "colour": "red"}
    peer.emit_all([{"kind": "edge_put", "graph": "projects/app", "edge": edge, "was": None}], by="file")
    peer.edge(s, "a", "requires", "b", ["why"])
    assert peer.graph().edges["a", "requires", "b"].extra == {"colour": "red"}


def test_direction_and_rel_make_other_edges(peer, s):
    for source, rel, target in (("a", "r", "b"), ("b", "r", "a"), ("a", "q", "b")):
        assert "(new)" in peer.edge(s, source, rel, target).text
    assert len(peer.graph().edges) == 3


def test_an_edge_to_a_node_that_is_not_there_is_saved_with_a_note_and_shown_once_it_is(peer, s):
    peer.put(s, "a")
    size = peer.graph().size
    reply = peer.edge(s, "a", "requires", "ghost")
    assert "Note: ghost names no node yet" in reply.text
    assert peer.graph().size == size
    assert "ghost" not in peer.read(s).text
    peer.restart(from_log=True)
    peer.put(s, "ghost")
    assert "→ requires → ghost" in peer.read(s).text


def test_a_project_edge_points_up_to_the_users_node(peer, s):
    peer.put(s, "u", level="user")
    peer.put(s, "p")
    assert "Note:" not in peer.edge(s, "p", "requires", "u").text
    assert not peer.graph("user").edges


def test_a_maintain_edge_resolves_in_its_own_graph_only(peer, s):
    peer.put(s, "u", level="user")
    peer.put(s, "m", level="maintain")
    assert "Note: u names no node yet" in peer.edge(s, "m", "requires", "u", level="maintain").text


def test_another_projects_node_is_no_end(peer, s):
    peer.put(peer.open(OTHER), "q")
    assert "Note: q names no node yet" in peer.edge(s, "p", "requires", "q").text


# --- files ---------------------------------------------------------------------------------------------------------

FILES = (
    "src/my file.py", "src/日本語.py", r"C:\src\a.py", "./a.py", "src/a.py#L10", "docs/", "src/a%20b.py", "~/notes",
    "@scope/pkg", "app/[slug]/page.tsx", "app/(group)/x.py", "src/a.py:12-40", ".env",
)  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_files_are_ends_as_users_write_them(peer, s, file):
    peer.put(s, "a")
    reply = peer.edge(s, "a", "documented-in", file)
    assert reply.code is None
    assert "Note:" not in reply.text
    assert edges_of(peer.graph()) == {("a", "documented-in", file)}
    assert f"→ documented-in → {file}" in peer.read(s).text


@pytest.mark.parametrize(
    ("one", "other"),
    [("src/a.py", "./src/a.py"), ("src/a.py", r"src\a.py"), ("src/\u00e9.py", "src/e\u0301.py")],
)  # fmt: skip
def test_two_spellings_of_a_file_are_one_edge_that_stays_as_written(peer, s, one, other):
    peer.put(s, "a")
    peer.edge(s, "a", "in", one)
    assert "(unchanged)" in peer.edge(s, "a", "in", other).text
    assert "(updated)" in peer.edge(s, "a", "in", other, ["why"]).text
    assert edges_of(peer.graph()) == {("a", "in", one)}
    assert "Deleted:" in peer.delete_edge(s, "a", "in", other).text
    assert not peer.graph().edges


def test_two_spellings_are_one_edge_between_two_files_too(peer, s):
    peer.edge(s, "src/a.py", "imports", "src/b.py")
    assert "(unchanged)" in peer.edge(s, "./src/a.py", "imports", "./src/b.py").text


# --- the guard -----------------------------------------------------------------------------------------------------


def test_notes_that_were_not_seen_are_not_replaced_but_shown(peer, s, t):
    peer.edge(t, "a", "requires", "b", ["because of x"])
    reply = peer.edge(s, "a", "requires", "b", ["mine"])
    assert reply.code == "unseen-edge"
    assert reply.text.startswith("NOT WRITTEN (unseen-edge): ")
    assert "a --requires--> b [because of x]" in reply.text
    assert peer.graph().edges["a", "requires", "b"].notes == ("because of x",)
    assert peer.edge(s, "a", "requires", "b", ["because of x", "mine"]).code is None


def test_a_lost_refusal_is_no_view(peer, s, t):
    peer.edge(t, "a", "requires", "b", ["x"])
    peer.edge(s, "a", "requires", "b", ["mine"], arrives=False)
    assert peer.edge(s, "a", "requires", "b", ["mine"]).code == "unseen-edge"


@pytest.mark.parametrize("end", ["a", "b"])
def test_reading_either_end_in_full_is_a_view_of_the_edge(peer, s, t, end):
    peer.put(t, "a")
    peer.put(t, "b")
    peer.edge(t, "a", "requires", "b", ["x"])
    peer.read(s, end)
    assert peer.edge(s, "a", "requires", "b", ["mine"]).code is None


def test_a_read_from_before_the_last_change_is_no_view(peer, s, t):
    peer.put(t, "a")
    peer.edge(t, "a", "requires", "b", ["x"])
    peer.read(s, "a")
    peer.edge(t, "a", "requires", "b", ["x", "y"])
    assert peer.edge(s, "a", "requires", "b", ["mine"]).code == "unseen-edge"


def test_an_own_write_of_an_end_is_no_view_of_its_edges(peer, s, t):
    peer.put(t, "a")
    peer.edge(t, "a", "requires", "b", ["x"])
    peer.put(s, "a", "other claim")
    assert peer.edge(s, "a", "requires", "b", ["mine"]).code == "unseen-edge"
    peer.put(s, "b", "a new node")
    peer.emit("context_reset", session=s)
    assert peer.graph().edges["a", "requires", "b"].notes == ("x",)


def test_the_maintain_memory_shows_edges_without_their_notes_so_it_is_no_view_of_them(peer, s, t):
    peer.put(t, "a", level="maintain")
    peer.put(t, "b", level="maintain")
    peer.edge(t, "a", "requires", "b", ["x"], level="maintain")
    text = peer.read(s, level="maintain").text
    code = peer.edge(s, "a", "requires", "b", ["mine"], level="maintain").code
    assert code == (None if "[x]" in text else "unseen-edge")


def test_the_last_writer_needs_no_view(peer, s):
    peer.edge(s, "a", "requires", "b", ["x"])
    assert peer.edge(s, "a", "requires", "b", ["y"]).code is None


def test_an_edge_without_notes_needs_no_view(peer, s, t):
    peer.edge(t, "a", "requires", "b")
    assert peer.edge(s, "a", "requires", "b", ["mine"]).code is None


def test_edges_of_a_locked_node_stay_allowed(peer, s):
    peer.put(s, "a")
    peer.set_node("a", locked=True)
    assert peer.edge(s, "a", "requires", "b").code is None
    assert peer.useful(s, "a").code is None
    assert peer.read(s, "a").code is None


# --- delete --------------------------------------------------------------------------------------------------------


def test_a_deleted_edge_is_repeated_with_its_notes(peer, s, t):
    peer.edge(t, "a", "requires", "b", ["x", "y"])
    reply = peer.delete_edge(s, "a", "requires", "b")
    assert f"seq {reply.seq}" in reply.text
    assert "a --requires--> b [x; y]" in reply.text
    assert not peer.graph().edges


def test_an_unknown_edge_is_nothing_to_do(peer, s):
    reply = peer.delete_edge(s, "a", "requires", "b")
    assert reply.code is None
    assert "nothing to do" in reply.text
    assert [event.kind for event in reply.events] == ["session_active"]


def test_without_a_level_the_projects_edge_goes_before_the_users(peer, s):
    peer.edge(s, "a", "r", "b", level="user")
    peer.edge(s, "a", "r", "b")
    peer.edge(s, "a", "r", "b", level="maintain")
    assert "project edge" in peer.delete_edge(s, "a", "r", "b").text
    assert "user edge" in peer.delete_edge(s, "a", "r", "b").text
    assert "nothing to do" in peer.delete_edge(s, "a", "r", "b").text
    assert "maintain edge" in peer.delete_edge(s, "a", "r", "b", level="maintain").text


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rel", ["", "a/b", "a b", "x" * 65, "<b>", "r\u202e"])
def test_what_is_no_rel_is_refused(peer, s, rel):
    assert peer.edge(s, "a", rel, "b").code == "bad-rel"


@pytest.mark.parametrize(
    "end", ["", "a b", "<img>", "x" * 129, "a/" + "x" * FILE_MAX_CHARS, "a/\u202eb", "a/b\nc", "a/b\x00c", "a/\u200bb"]
)
def test_what_is_neither_an_id_nor_a_file_is_refused(peer, s, end):
    for source, target in ((end, "b"), ("b", end)):
        reply = peer.edge(s, source, "r", target)
        assert reply.code == "bad-endpoint"
        assert not {"\u202e", "\x00", "\u200b"} & set(reply.text)
        assert len(reply.text.splitlines()) == 1
    assert not peer.graph().edges


def test_a_refused_edge_changes_nothing(peer, s, t):
    peer.edge(t, "a", "r", "b", ["x"])
    before = state_of(peer.world)["graphs"]
    peer.edge(s, "a", "r", "b", ["mine"], arrives=False)
    assert state_of(peer.world)["graphs"] == before


def test_two_projects_have_their_own_edges(peer):
    p, q = peer.open(APP), peer.open(OTHER)
    peer.edge(p, "a", "r", "b")
    assert "nothing to do" in peer.delete_edge(q, "a", "r", "b").text
