from itertools import product

import pytest

from tests.kg.peer import APP, OTHER, Peer, edges_of, state_of

# --- what an edge means (F5) ---------------------------------------------------------------------------------------

FACTS = ("user_a", "user_b", "p_a", "p_b", "p_links_a", "p_links_b", "q_b", "q_links_a")


def configured(facts):
    """Two projects and the user graph with exactly these facts."""
    peer = Peer()
    p, q = peer.open(APP), peer.open(OTHER)
    peer.put(p, "p-end")
    peer.put(q, "q-end")
    for fact, sid, level, node_id in (
        ("user_a", p, "user", "a"), ("user_b", p, "user", "b"), ("p_a", p, "project", "a"),
        ("p_b", p, "project", "b"), ("q_b", q, "project", "b"),
    ):  # fmt: skip
        if fact in facts:
            assert peer.put(sid, node_id, level=level).code is None
    for fact, sid, own, node_id in (
        ("p_links_a", p, "p-end", "a"), ("p_links_b", p, "p-end", "b"), ("q_links_a", q, "q-end", "a"),
    ):  # fmt: skip
        if fact in facts:
            assert peer.edge(sid, own, f"to-{node_id}", node_id).code is None
            assert peer.edge(sid, node_id, f"from-{node_id}", own).code is None
    return peer, p


def meanings(peer):
    """For each edge, told by its graph and rel, the node that its outer end is: by identity, not by name."""
    found = {}
    for key, graph in peer.world.graphs.items():
        for source, rel, target in graph.edges:
            at = peer.world.resolve(key, target if rel.startswith("to-") else source)
            found[key, rel] = None if at is None else peer.world.graph(at[0]).nodes[at[1]].created_seq
    return found


def expected(facts, level):
    """The verdict that tools.md section 7 asks for."""
    if level == "user":
        if "user_a" not in facts:
            return "not-found"
        if "user_b" in facts:
            return "id-taken"
        p_caught = {"p_links_a", "p_b"} <= facts and "p_a" not in facts
        return "edge-captured" if p_caught or {"q_links_a", "q_b"} <= facts else None
    if "p_a" not in facts:
        return "not-found"
    if "p_b" in facts:
        return "id-taken"
    return "edge-captured" if {"user_b", "p_links_b"} <= facts else None


@pytest.mark.parametrize("level", ["user", "project"])
def test_an_accepted_rename_keeps_what_every_edge_means_and_no_harmless_one_is_refused(level):
    for chosen in product([False, True], repeat=len(FACTS)):
        facts = {fact for fact, there in zip(FACTS, chosen, strict=True) if there}
        peer, p = configured(facts)
        before, state = meanings(peer), state_of(peer.world)
        renamed = (peer.graph(level).nodes.get("a") or peer.node("p-end")).created_seq
        reply = peer.rename(p, "a", "b", level=level)
        assert reply.code == expected(facts, level), facts
        if reply.code is not None:
            assert meanings(peer) == before
            assert state_of(peer.world)["graphs"] == state["graphs"]
            continue
        after = meanings(peer)
        assert after.keys() == before.keys()
        for edge, meant in before.items():
            assert after[edge] == meant or (meant is None and after[edge] == renamed), (facts, edge)


def test_without_a_level_the_project_node_is_renamed_before_the_users(peer):
    sid = peer.open()
    peer.put(sid, "a", level="user")
    peer.put(sid, "a")
    assert "project/a → b" in peer.rename(sid, "a", "b").text
    assert "user/a → b" in peer.rename(sid, "a", "b").text


def test_a_user_rename_rewires_edges_of_projects_that_nobody_has_open(peer):
    p, q = peer.open(APP), peer.open(OTHER)
    peer.put(p, "a", level="user")
    peer.put(q, "q-end")
    peer.edge(q, "q-end", "uses", "a", ["why"])
    peer.emit("session_expired", sessions=[q])
    reply = peer.rename(p, "a", "b", level="user")
    assert "1 edge references" in reply.text
    assert edges_of(peer.graph(slug="other")) == {("q-end", "uses", "b")}
    assert peer.graph(slug="other").edges["q-end", "uses", "b"].notes == ("why",)
    assert len(reply.events) == 1


def test_a_user_rename_is_refused_while_a_project_cannot_be_read(peer):
    sid = peer.open()
    peer.put(sid, "a", level="user")
    peer.world.unreadable["projects/broken"] = "line 3"
    reply = peer.rename(sid, "a", "b", level="user")
    assert reply.code == "unreadable-graph"
    assert "projects/broken" in reply.text
    assert "a" in peer.graph("user").nodes


def test_a_maintain_rename_touches_only_the_maintain_graph(peer):
    sid = peer.open()
    peer.put(sid, "a", level="maintain")
    peer.put(sid, "a")
    peer.edge(sid, "a", "uses", "a")
    assert peer.rename(sid, "a", "b", level="maintain").code is None
    assert edges_of(peer.graph()) == {("a", "uses", "a")}


# --- what rides along ----------------------------------------------------------------------------------------------


def test_every_field_rides_along_and_content_seq_does_not_move(peer):
    sid = peer.open()
    peer.put(sid, "a", "claim", ["note"], ["src/a.py"])
    fields = {
        "used": "2026-01-01T00:00:00.000Z", "read": "2026-01-02T00:00:00.000Z", "useful": ["2026-01-03T00:00:00.000Z"],
        "credited": ["2026-01-03T00:00:00.000Z"], "recurrences": [7], "author": "feedbeef",
        "gist_changes": ["2026-01-04T00:00:00.000Z"], "extra": {"colour": "red"},
    }  # fmt: skip
    peer.set_node("a", **{name: value for name, value in fields.items() if name != "extra"})
    before = peer.node("a")
    peer.rename(sid, "a", "b")
    after = peer.node("b")
    assert "a" not in peer.graph().nodes
    same = {name: getattr(before, name) for name in before.__slots__ if name not in {"id", "used"}}
    assert same == {name: getattr(after, name) for name in same}
    assert after.used == peer.now


def test_a_rename_by_a_pass_leaves_the_time_of_use_alone(peer):
    sid = peer.open()
    peer.put(sid, "a")
    used = peer.node("a").used
    peer.read(sid, maintenance=True, level="maintain")
    peer.rename(sid, "a", "b")
    assert peer.node("b").used == used


def test_views_preload_and_votes_follow_the_node(peer):
    sid, other = peer.open(), peer.open()
    peer.put(other, "a", notes=["n"])
    peer.read(sid, "a")
    peer.useful(sid, "a")
    peer.start("startup", "c1")
    hook = peer.world.clients["claude", "c1"]
    peer.rename(other, "a", "b")
    assert peer.put(sid, "b", notes=["n", "more"]).code is None
    assert "already voted" in peer.useful(sid, "b").text
    assert peer.session(hook).preloaded == {("projects/app", "b")}
    assert peer.node("b").useful == (peer.node("b").useful[0],)


def test_a_delivery_under_way_means_the_node_under_its_new_id(peer):
    sid, other = peer.open(), peer.open()
    peer.put(other, "a", notes=["n"])
    reply = peer.read(sid, "a", arrives=False)
    peer.rename(other, "a", "b")
    assert peer.ack(reply)
    assert peer.put(sid, "b", notes=["mine"]).code is None


def test_parts_still_to_be_read_mean_the_node_under_its_new_id(peer):
    sid, other = peer.open(), peer.open()
    peer.put(other, "a", notes=["n" * 30_000, "m" * 30_000])
    peer.read(sid, "a")
    peer.rename(other, "a", "b")
    assert peer.session(sid).view(("projects/app", "b")).read_seq is None
    peer.read(sid, more=True)
    assert peer.session(sid).view(("projects/app", "b")).read_seq == peer.node("b").content_seq


def test_a_view_of_an_edge_follows_when_its_end_is_renamed(peer):
    sid, other = peer.open(), peer.open()
    peer.put(other, "a")
    peer.edge(other, "a", "uses", "src/x.py", ["old"])
    peer.read(sid, "a")
    peer.rename(other, "a", "b")
    assert peer.edge(sid, "b", "uses", "src/x.py", ["new"]).code is None


# --- two edges that fall on one key --------------------------------------------------------------------------------


def merged(peer, sid):
    peer.put(sid, "a")
    peer.put(sid, "end")
    peer.edge(sid, "a", "uses", "end", ["both", "from a"])
    peer.edge(sid, "b", "uses", "end", ["from b", "both"])


def test_the_survivor_keeps_its_notes_first_and_adds_what_it_lacks(peer):
    sid = peer.open()
    merged(peer, sid)
    peer.rename(sid, "a", "b")
    assert peer.graph().edges["b", "uses", "end"].notes == ("from b", "both", "from a")


def test_who_saw_one_of_two_merged_edges_has_not_seen_the_notes_of_both(peer):
    writer, sid = peer.open(), peer.open()
    merged(peer, writer)
    peer.put(writer, "end", "other claim")
    seen = peer.edge(sid, "b", "uses", "end", ["mine"])
    assert seen.code == "unseen-edge"
    peer.rename(writer, "a", "b")
    assert peer.edge(sid, "b", "uses", "end", ["mine"]).code == "unseen-edge"
    assert peer.edge(sid, "b", "uses", "end", ["mine"]).code is None


def test_a_self_edge_stays_one(peer):
    sid = peer.open()
    peer.put(sid, "a")
    peer.edge(sid, "a", "uses", "a")
    peer.rename(sid, "a", "b")
    assert edges_of(peer.graph()) == {("b", "uses", "b")}


# --- refusals ------------------------------------------------------------------------------------------------------


def test_the_new_id_obeys_the_rules_of_a_create(peer):
    sid = peer.open()
    peer.put(sid, "a")
    assert peer.rename(sid, "a", "one-two-three-four-five-six-seven").code == "long-id"
    assert peer.rename(sid, "a", "no blanks").code == "bad-id"
    assert "Note:" in peer.rename(sid, "a", "one-two-three-four-five-six").text


def test_the_same_id_after_normalising_is_refused(peer):
    sid = peer.open()
    peer.put(sid, "\u00e9")
    assert peer.rename(sid, "\u00e9", "e\u0301").code == "same-id"


@pytest.mark.parametrize("level", [None, "user", "project", "maintain"])
def test_an_unknown_id_is_not_found(peer, level):
    sid = peer.open()
    reply = peer.rename(sid, "ghost", "b", level=level)
    assert reply.code == "not-found"
    assert reply.text.startswith("NOT FOUND: ")


def test_an_id_of_another_project_is_not_found(peer):
    q = peer.open(OTHER)
    peer.put(q, "a")
    assert peer.rename(peer.open(APP), "a", "b").code == "not-found"


def test_a_locked_node_is_not_renamed(peer):
    sid = peer.open()
    peer.put(sid, "a")
    peer.set_node("a", locked=True)
    reply = peer.rename(sid, "a", "b")
    assert reply.code == "locked"
    assert reply.text.startswith("NOT RENAMED")


def test_a_pass_does_not_rename_what_a_live_session_holds(peer):
    sid, keeper = peer.open(), peer.open()
    peer.put(sid, "a")
    peer.read(keeper, maintenance=True, level="maintain")
    assert peer.rename(keeper, "a", "b").code == "held"
    peer.wait(hours=5)
    assert peer.rename(keeper, "a", "b").code is None


def test_the_same_rename_again_is_not_found_and_harmless(peer):
    sid = peer.open()
    peer.put(sid, "a")
    peer.rename(sid, "a", "b")
    before = state_of(peer.world)["graphs"]
    assert peer.rename(sid, "a", "b").code == "not-found"
    assert state_of(peer.world)["graphs"] == before


def test_the_block_of_a_renamed_node_still_tells_who_wrote_it(peer):
    sid = peer.open(harness="codex")
    peer.put(sid, "a")
    peer.rename(sid, "a", "b")
    assert "by codex" in peer.read(sid, "b").text


def test_scores_of_the_last_plan_follow_the_node(peer):
    sid = peer.open()
    peer.put(sid, "a")
    peer.graph().scores = {"a": 0.7, "x": 0.1}
    peer.rename(sid, "a", "b")
    assert peer.graph().scores == {"b": 0.7, "x": 0.1}
