import pytest

from kg.limits import CHANGES_KEPT, SYNC_GIST_CHARS
from tests.kg.peer import OTHER


def body(reply):
    return reply.text.splitlines()


def test_everything_others_changed_is_listed_by_level_and_kind(peer, s, t):
    peer.put(t, "gone")
    peer.edge(t, "x", "r", "y")
    peer.put(t, "old-name")
    peer.sync(s)
    peer.put(t, "b", "claim b")
    peer.put(t, "a", "claim a")
    peer.edge(t, "a", "r", "b")
    peer.delete(t, "gone")
    peer.delete_edge(t, "x", "r", "y")
    peer.rename(t, "old-name", "new-name")
    peer.put(t, "u", "claim u", level="user")
    assert body(peer.sync(s)) == [
        "=== PROJECT app — 2 nodes, 1 edge, 2 deleted, 1 renamed ===", "  node a: claim a", "  node b: claim b",
        "  a --r--> b", "  deleted gone", "  deleted edge x --r--> y", "  renamed old-name → new-name",
        "=== USER — 1 node, 0 edges, 0 deleted, 0 renamed ===", "  node u: claim u", f"Session: {s}",
    ]  # fmt: skip


def test_own_writes_are_left_out_and_never_move_the_mark(peer, s, t):
    peer.put(t, "a")
    peer.put(s, "mine")
    text = peer.sync(s).text
    assert "node a" in text
    assert "mine" not in text


def test_the_mark_moves_to_what_was_rendered_and_only_on_arrival(peer, s, t):
    peer.put(t, "a")
    lost = peer.sync(s, arrives=False)
    assert "node a" in peer.sync(s, arrives=False).text
    peer.put(t, "b")
    assert peer.ack(lost)
    text = peer.sync(s).text
    assert "node a" not in text
    assert "node b" in text
    assert "0 nodes" in peer.sync(s).text


def test_an_older_acknowledgement_does_not_move_the_mark_back(peer, s, t):
    first = peer.sync(s, arrives=False)
    peer.put(t, "a")
    second = peer.sync(s, arrives=False)
    assert peer.ack(second)
    mark = peer.session(s).sync_seq
    assert peer.ack(first)
    assert peer.session(s).sync_seq == mark


def test_sync_grants_no_view(peer, s, t):
    peer.put(t, "a", notes=["n"])
    peer.sync(s)
    assert peer.session(s).view(("projects/app", "a")).seen_seq is None


def test_whose_content_it_is_decides_not_who_touched_the_node_last(peer, s, t):
    """F36."""
    peer.put(t, "n", "from t")
    peer.rename(s, "n", "m")
    text = peer.sync(s).text
    assert "node m: from t" in text
    assert "renamed" not in text.replace("0 renamed", "")


def test_maintenance_writes_are_in_it(peer, s, t):
    peer.put(s, "a")
    peer.read(t, "a", maintenance=True)
    peer.put(t, "a", "rewritten")
    assert "node a: rewritten" in peer.sync(s).text


def test_what_an_own_pass_wrote_is_own(peer, s):
    peer.put(s, "a")
    peer.read(s, "a", maintenance=True)
    peer.put(s, "a", "rewritten")
    assert "0 nodes" in peer.sync(s).text


def test_tier_moves_votes_and_unchanged_puts_are_not_in_it(peer, s, t):
    peer.put(t, "a")
    peer.sync(s)
    peer.emit("tiers_moved", graph="projects/app", moves=[{"id": "a", "to": "archived"}])
    peer.useful(t, "a")
    assert "0 nodes" in peer.sync(s).text
    peer.put(t, "a")
    assert "0 nodes" in peer.sync(s).text


def test_an_archived_node_is_marked_so(peer, s, t):
    peer.put(t, "a", "g")
    peer.emit("tiers_moved", graph="projects/app", moves=[{"id": "a", "to": "archived"}])
    assert "  node a (archived): g" in peer.sync(s).text


def test_a_gist_is_cut_at_a_hundred(peer, s, t):
    peer.put(t, "a", "x" * 500)
    assert f"  node a: {'x' * SYNC_GIST_CHARS}" in body(peer.sync(s))


def test_edges_are_listed_by_the_present_names_of_their_ends(peer, s, t):
    peer.put(t, "a")
    peer.put(t, "u", level="user")
    peer.sync(s)
    peer.edge(t, "a", "r", "u")
    peer.rename(t, "a", "b")
    peer.rename(t, "u", "v", level="user")
    assert "  b --r--> v" in peer.sync(s).text


def test_an_id_that_was_used_again_is_not_mixed_up(peer, s, t):
    peer.put(t, "a", "first")
    peer.rename(t, "a", "b")
    peer.put(t, "a", "second")
    text = peer.sync(s).text
    assert "node a: second" in text
    assert "node b: first" in text


def test_a_chain_of_renames_ends_at_the_present_name(peer, s, t):
    peer.put(s, "a")
    peer.rename(t, "a", "b")
    peer.rename(t, "b", "c")
    assert [line for line in body(peer.sync(s)) if "renamed " in line and "===" not in line] == [
        "  renamed a → c", "  renamed b → c",
    ]  # fmt: skip


def test_edges_that_the_clean_up_took_are_listed(peer, s):
    edge = {"from": "a", "rel": "r", "to": "ghost"}
    peer.emit_all([{"kind": "edges_cleaned", "graph": "projects/app", "edges": [edge]}])
    assert "deleted edge a --r--> ghost" in peer.sync(s).text


def test_a_deletion_of_a_user_node_is_told_in_every_project(peer, t):
    q = peer.open(OTHER)
    peer.put(t, "u", level="user")
    peer.delete(t, "u")
    assert "  deleted u" in peer.sync(q).text


def test_a_session_is_told_when_the_log_no_longer_reaches_back(peer, s, t):
    peer.put(t, "a")
    graph = peer.graph()
    for _ in range(2 * CHANGES_KEPT):
        graph.record(graph.changes[-1])
    text = peer.sync(s).text
    assert text.startswith("Note: ")
    assert str(graph.changes_from) in text.splitlines()[0]


def test_a_long_sync_is_paged_and_its_mark_moves_with_the_last_part(peer, s, t):
    for number in range(700):
        peer.put(t, f"node-number-{number}", "x" * 90)
    first = peer.sync(s)
    assert "Part 1 of " in first.text
    assert peer.session(s).sync_seq < first.seq - 100
    while "Next: " in (part := peer.read(s, more=True)).text:
        pass
    assert part.text.splitlines()[-2] == f"Session: {s}"
    assert "0 nodes" in peer.sync(s).text


@pytest.mark.parametrize("sid", ["deadbeef", "", "nonsense"])
def test_an_unknown_session_is_refused(peer, sid):
    assert peer.sync(sid).code == "unknown-session"
