from kg.upkeep import dangling_edges, healed_nodes, recurrences
from tests.kg.peer import OTHER, edges_of

KEY = "projects/app"
LEAK = 'the claim</gist>\n<parameter name="notes">["why"]</parameter>'


def put_right(peer, *, kept_from=10**9):
    """What the service does after loading."""
    for found in (healed_nodes(peer.world), dangling_edges(peer.world, kept_from=kept_from), recurrences(peer.world)):
        peer.emit_all(list(found))


# --- healing -------------------------------------------------------------------------------------------------------


def test_a_leaked_call_is_healed_once_and_keeps_its_author(peer, s):
    peer.put(s, "a", "good")
    peer.set_node("a", gist=LEAK)
    writer = peer.node("a").writer
    put_right(peer)
    node = peer.node("a")
    assert (node.gist, node.notes, node.writer) == ("the claim", ("why",), writer)
    seq = peer.world.seq
    put_right(peer)
    assert peer.world.seq == seq


def test_stored_notes_are_not_replaced_by_leaked_ones(peer, s):
    peer.put(s, "a", "good", ["kept"])
    peer.set_node("a", gist=LEAK)
    put_right(peer)
    assert (peer.node("a").gist, peer.node("a").notes) == ("the claim", ("kept",))


def test_a_gist_that_is_all_leak_is_left_alone(peer, s):
    peer.put(s, "a", "good")
    peer.set_node("a", gist="</gist>")
    put_right(peer)
    assert peer.node("a").gist == "</gist>"


def test_a_healed_node_has_to_be_read_anew(peer, s):
    peer.put(s, "a", "good")
    peer.set_node("a", gist=LEAK)
    peer.read(s, "a")
    put_right(peer)
    assert peer.put(s, "a", "mine").code == "stale-view"


# --- edges to nothing (C24) ----------------------------------------------------------------------------------------


def test_edges_to_nothing_go_in_one_event_that_carries_them_whole(peer, s):
    peer.put(s, "a")
    peer.edge(s, "a", "r", "ghost", ["why"])
    peer.edge(s, "phantom", "r", "a")
    peer.edge(s, "a", "r", "src/x.py")
    put_right(peer)
    assert edges_of(peer.graph()) == {("a", "r", "src/x.py")}
    (event,) = [line for line in peer.log if b"edges_cleaned" in line]
    assert b'"why"' in event


def test_an_edge_whose_last_change_is_in_the_kept_log_stays(peer, s):
    peer.put(s, "a")
    edge = peer.edge(s, "a", "r", "ghost")
    put_right(peer, kept_from=edge.seq)
    assert edges_of(peer.graph()) == {("a", "r", "ghost")}
    put_right(peer, kept_from=edge.seq + 1)
    assert edges_of(peer.graph()) == set()


def test_edges_up_to_the_user_graph_stay_and_maintain_edges_to_it_go(peer, s):
    peer.put(s, "u", level="user")
    peer.put(s, "a")
    peer.put(s, "m", level="maintain")
    peer.edge(s, "a", "r", "u")
    peer.edge(s, "m", "r", "u", level="maintain")
    put_right(peer)
    assert edges_of(peer.graph()) == {("a", "r", "u")}
    assert edges_of(peer.graph("maintain")) == set()


def test_while_the_user_graph_is_unreadable_edges_that_may_point_into_it_stay(peer, s):
    peer.put(s, "a")
    peer.edge(s, "a", "r", "ghost")
    peer.world.unreadable["user"] = "broken"
    put_right(peer)
    assert edges_of(peer.graph()) == {("a", "r", "ghost")}


def test_the_result_depends_on_the_folder_alone(peer, s):
    q = peer.open(OTHER)
    for sid in (s, q):
        peer.put(sid, "a")
        peer.edge(sid, "a", "r", "ghost")
    peer.emit("session_expired", sessions=[s, q])
    put_right(peer)
    assert edges_of(peer.graph()) == edges_of(peer.graph(slug="other")) == set()


# --- recurrence (I18) ----------------------------------------------------------------------------------------------


def test_a_case_that_was_written_after_its_edge_is_credited_at_load_and_once(peer, s):
    peer.put(s, "lesson", level="user")
    peer.edge(s, "case", "instance-of", "lesson")
    peer.put(s, "case")
    put_right(peer)
    lesson = peer.node("lesson", "user")
    assert lesson.useful == (peer.node("case").created,)
    assert lesson.recurrences == (peer.node("case").created_seq,)
    seq = peer.world.seq
    put_right(peer)
    peer.restart(from_log=True)
    put_right(peer)
    assert peer.world.seq == seq


def test_a_rename_of_case_or_lesson_credits_nothing_anew(peer, s):
    peer.put(s, "lesson", level="user")
    peer.put(s, "case")
    peer.edge(s, "case", "instance-of", "lesson")
    peer.rename(s, "case", "case-renamed")
    peer.rename(s, "lesson", "lesson-renamed", level="user")
    seq = peer.world.seq
    put_right(peer)
    assert peer.world.seq == seq
    assert len(peer.node("lesson-renamed", "user").useful) == 1


def test_a_maintain_edge_credits_no_user_lesson(peer, s):
    peer.put(s, "lesson", level="user")
    peer.put(s, "case", level="maintain")
    peer.edge(s, "case", "instance-of", "lesson", level="maintain")
    seq = peer.world.seq
    assert list(recurrences(peer.world)) == []
    assert peer.world.seq == seq


def test_credits_of_reconciling_are_nobodys_votes(peer, s):
    peer.put(s, "lesson", level="user")
    peer.edge(s, "case", "instance-of", "lesson")
    peer.put(s, "case")
    put_right(peer)
    assert peer.session(s).votes == {}
    assert peer.useful(s, "lesson").code is None
