import pytest

from tests.kg.peer import APP, OTHER, edges_of, state_of


def test_a_node_that_was_not_read_is_shown_instead_and_goes_at_the_second_call(peer, s, t):
    peer.put(t, "a", "claim", ["note"])
    reply = peer.delete(s, "a")
    assert reply.code == "unseen-node"
    assert reply.text.startswith("NOT DELETED (unseen-node): ")
    assert "  - note" in reply.text
    assert "a" in peer.graph().nodes
    again = peer.delete(s, "a")
    assert again.text.startswith(f"Deleted: project/a with 0 edges seq {again.events[0].seq}")
    assert "a" not in peer.graph().nodes


def test_a_refusal_that_was_lost_is_no_read(peer, s, t):
    peer.put(t, "a")
    peer.delete(s, "a", arrives=False)
    assert peer.delete(s, "a").code == "unseen-node"


def test_a_read_from_before_the_last_change_does_not_do(peer, s, t):
    peer.put(t, "a")
    peer.read(s, "a")
    peer.put(t, "a", "changed")
    assert peer.delete(s, "a").code == "unseen-node"


def test_seeing_the_gist_alone_does_not_do(peer, s, t):
    peer.put(t, "alpha")
    peer.search("alpha", s, level="user")
    peer.read(s, level="project")
    assert peer.delete(s, "alpha").code == "unseen-node"


def test_an_own_blind_gist_write_does_not_do(peer, s, t):
    peer.put(t, "a", "claim", ["note"])
    peer.put(s, "a", "other")
    assert peer.delete(s, "a").code == "unseen-node"


def test_a_node_goes_with_its_edges(peer, s):
    for node_id in ("a", "b"):
        peer.put(s, node_id)
    peer.edge(s, "a", "r", "b")
    peer.edge(s, "b", "r", "a")
    peer.edge(s, "b", "r", "src/x.py")
    reply = peer.delete(s, "a")
    assert "with 2 edges" in reply.text
    assert edges_of(peer.graph()) == {("b", "r", "src/x.py")}
    (event,) = reply.events
    assert event.body["was"]["gist"] == "one claim"
    assert len(event.body["edges"]["projects/app"]) == 2


def test_a_user_node_takes_the_project_edges_that_mean_it_along(peer):
    p, q = peer.open(APP), peer.open(OTHER)
    peer.put(p, "u", level="user")
    peer.put(p, "p")
    peer.edge(p, "p", "r", "u")
    peer.put(q, "u")
    peer.edge(q, "u", "r", "src/x.py")
    reply = peer.delete(p, "u", level="user")
    assert "with 0 edges and 1 of other graphs" in reply.text
    assert f"kg undo {reply.events[0].seq}" in reply.text
    assert not peer.graph().edges
    assert edges_of(peer.graph(slug="other")) == {("u", "r", "src/x.py")}
    assert len(reply.events) == 1


def test_who_saw_a_deleted_node_hears_of_it_by_news_and_by_sync(peer, s, t):
    peer.put(s, "u", level="user")
    peer.read(t, "u")
    peer.delete(s, "u")
    assert "News: user/u was deleted" in peer.search("nothing", t).text
    assert "  deleted u" in peer.sync(t).text


def test_the_project_is_looked_up_first(peer, s):
    peer.put(s, "a", level="user")
    peer.put(s, "a")
    assert "project/a" in peer.delete(s, "a").text
    assert "user/a" in peer.delete(s, "a").text


def test_a_locked_node_is_not_deleted(peer, s):
    peer.put(s, "a")
    peer.set_node("a", locked=True)
    peer.read(s, "a")
    reply = peer.delete(s, "a")
    assert reply.code == "locked"
    assert reply.text.startswith("NOT DELETED")


def test_a_pass_does_not_delete_what_a_live_session_holds(peer, s):
    peer.put(s, "a")
    keeper = peer.open()
    peer.read(keeper, "a", maintenance=True)
    assert peer.delete(keeper, "a").code == "held"
    peer.emit("context_reset", session=s)
    assert peer.delete(keeper, "a").code is None


@pytest.mark.parametrize("level", [None, "user", "project", "maintain"])
def test_the_same_delete_again_is_not_found_and_harmless(peer, s, level):
    peer.put(s, "a", level=level or "project")
    peer.delete(s, "a", level=level)
    before = state_of(peer.world)["graphs"]
    assert peer.delete(s, "a", level=level).code == "not-found"
    assert state_of(peer.world)["graphs"] == before


def test_what_is_no_id_is_refused(peer, s):
    assert peer.delete(s, "no id").code == "bad-id"


def test_a_late_acknowledgement_for_a_deleted_node_is_harmless(peer, s, t):
    peer.put(t, "a")
    peer.emit("tiers_moved", graph="projects/app", moves=[{"id": "a", "to": "archived"}])
    reply = peer.read(s, "a", arrives=False)
    peer.delete(t, "a")
    assert peer.ack(reply)
    assert "a" not in peer.graph().nodes
    peer.put(t, "a", "made anew", ["note"])
    assert peer.delete(s, "a").code == "unseen-node"
