import pytest

from kg.limits import NEWS_GIST_CHARS, NEWS_SHOWN
from tests.kg.peer import APP, OTHER


@pytest.fixture
def t(peer):
    return peer.open(harness="codex")


def news(reply):
    return [line for line in reply.text.splitlines() if line.startswith("News: ")]


ADVICE = "News: update such a node rather than write it again."


# --- what is news --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["put", "search"])
def test_another_sessions_write_is_told_once_with_its_gist_and_client(peer, s, t, door):
    peer.put(t, "a", "the claim")
    ask = {"put": lambda: peer.put(s, "mine"), "search": lambda: peer.search("zzz", s)}[door]
    assert news(ask()) == ["News: new project/a by codex: the claim", ADVICE]
    assert news(ask()) == []
    assert peer.session(s).view(("projects/app", "a")).seen_seq == peer.node("a").content_seq
    assert peer.session(s).view(("projects/app", "a")).via == "push"


def test_an_update_is_told_as_one(peer, s, t):
    peer.put(t, "a", "one")
    peer.search("zzz", s)
    peer.put(t, "a", "two")
    assert news(peer.search("zzz", s))[0] == "News: updated project/a by codex: two"


def test_the_newest_three_are_shown_and_the_others_counted(peer, s, t):
    for number in range(5):
        peer.put(t, f"n{number}")
    lines = news(peer.search("zzz", s))
    assert [line.split()[2] for line in lines[:NEWS_SHOWN]] == ["project/n4", "project/n3", "project/n2"]
    assert lines[NEWS_SHOWN:] == ["News: +2 more, kg_sync lists them", ADVICE]
    assert news(peer.search("zzz", s)) == []
    assert "5 nodes" in peer.sync(s).text


def test_a_gist_that_was_cut_grants_no_view(peer, s, t):
    peer.put(t, "a", "x" * (NEWS_GIST_CHARS + 1))
    assert news(peer.search("zzz", s))[0].endswith("x…")
    assert peer.session(s).view(("projects/app", "a")).seen_seq is None


def test_a_write_by_hand_is_told(peer, s, t):
    peer.put(t, "a")
    peer.search("zzz", s)
    peer.set_node("a", gist="by hand")
    assert news(peer.search("zzz", s))[0] == "News: updated project/a by hand: by hand"


# --- what is none (F35) --------------------------------------------------------------------------------------------


def test_own_writes_are_none(peer, s):
    peer.put(s, "a")
    assert news(peer.search("zzz", s)) == []


def test_maintenance_is_none(peer, s, t):
    peer.put(s, "a")
    peer.read(t, "a", maintenance=True)
    peer.put(t, "a", "rewritten")
    assert news(peer.search("zzz", s)) == []
    assert "node a" in peer.sync(s).text


def test_what_was_written_before_the_session_began_is_none(peer, t):
    peer.put(t, "a")
    assert news(peer.search("zzz", peer.open())) == []


def test_what_kg_sync_told_is_none(peer, s, t):
    peer.put(t, "a")
    peer.sync(s)
    assert news(peer.search("zzz", s)) == []
    peer.put(t, "a")
    assert news(peer.search("zzz", s)) == []


def test_what_was_seen_since_is_none(peer, s, t):
    peer.put(t, "a")
    peer.read(s, "a")
    assert news(peer.search("zzz", s)) == []


@pytest.mark.parametrize("tier", ["archived", "orphaned"])
def test_an_archived_node_is_none(peer, s, t, tier):
    peer.put(t, "a")
    peer.emit("tiers_moved", graph="projects/app", moves=[{"id": "a", "to": tier}])
    assert news(peer.search("zzz", s)) == []


def test_unchanged_puts_votes_reads_promotions_and_edges_are_none(peer, s, t):
    peer.put(t, "a")
    peer.put(t, "b")
    peer.search("zzz", s)
    peer.emit("tiers_moved", graph="projects/app", moves=[{"id": "b", "to": "archived"}])
    peer.put(t, "a")
    peer.read(t, "a", "b")
    peer.useful(t, "a")
    peer.edge(t, "a", "r", "b")
    assert news(peer.search("zzz", s)) == []


def test_a_user_write_of_another_project_is_left_to_kg_sync(peer, s):
    q = peer.open(OTHER)
    peer.put(q, "u", level="user")
    assert news(peer.search("zzz", s)) == []
    assert "node u" in peer.sync(s).text


@pytest.mark.parametrize("place", [APP, None])
def test_a_user_write_of_this_project_or_of_none_is_news(peer, s, place):
    peer.put(peer.open(place), "u", level="user")
    assert "user/u" in news(peer.search("zzz", s))[0]


def test_another_projects_graph_is_none(peer, s):
    peer.put(peer.open(OTHER), "q")
    assert news(peer.search("zzz", s)) == []
    assert "node q" not in peer.sync(s).text


# --- renames and deletions -----------------------------------------------------------------------------------------


def test_a_rename_is_told_as_one_and_only_to_who_saw_the_node(peer, s, t):
    u = peer.open()
    peer.put(s, "a")
    peer.emit("delivery_acked", by=u, session=u, context=0, effects=[["told", peer.world.seq]])
    peer.rename(t, "a", "b")
    assert news(peer.search("zzz", s)) == ["News: project/a is now b", ADVICE]
    assert news(peer.search("zzz", u)) == []


def test_a_deletion_is_told_only_to_who_saw_the_node(peer, s, t):
    peer.put(s, "a")
    u = peer.open(place=OTHER)
    peer.emit("session_expired", sessions=[u])
    peer.read(t, "a")
    peer.delete(t, "a")
    assert news(peer.search("zzz", s)) == ["News: project/a was deleted", ADVICE]


def test_a_rename_by_somebody_else_hides_no_content(peer, s, t):
    """F36: S itself renames what T wrote."""
    peer.put(t, "n", "from seven")
    peer.rename(s, "n", "m")
    assert news(peer.search("zzz", s))[0] == "News: new project/m by codex: from seven"


def test_content_written_before_a_rename_is_told_under_the_new_id(peer, s, t):
    peer.put(t, "n", "old")
    peer.search("zzz", s)
    peer.put(t, "n", "new")
    peer.rename(t, "n", "m")
    assert news(peer.search("zzz", s)) == ["News: project/n is now m", "News: updated project/m by codex: new", ADVICE]


def test_an_id_that_was_used_again_is_not_mixed_up(peer, s, t):
    peer.put(t, "a", "first")
    peer.rename(t, "a", "b")
    peer.put(t, "a", "second")
    lines = news(peer.search("zzz", s))
    assert "News: new project/a by codex: second" in lines
    assert "News: new project/b by codex: first" in lines


# --- deliveries (F37, F38) -----------------------------------------------------------------------------------------


def test_news_under_way_counts_as_told_and_comes_again_when_it_was_dropped(peer, s, t):
    peer.put(t, "n")
    queued = peer.search("zzz", s, arrives=False)
    assert news(queued)
    assert news(peer.put(s, "mine")) == []
    peer.world.outbox.take(queued.delivery)
    assert news(peer.put(s, "mine", "again"))[0].startswith("News: new project/n")


def test_news_that_nobody_read_grants_no_view(peer, s, t):
    peer.put(t, "n", "five")
    peer.read(s, "n")
    peer.put(t, "n", "seven")
    lost = peer.search("zzz", s, arrives=False)
    assert news(lost)
    assert peer.put(s, "n", "mine").code == "stale-view"
    peer.world.outbox.take(lost.delivery)
    peer.put(t, "n", "eight")
    assert news(peer.search("zzz", s))


def test_a_refused_call_tells_no_news(peer, s, t):
    peer.put(t, "n")
    assert news(peer.put(s, "no id")) == []
    assert news(peer.put(s, "mine"))


def test_a_search_without_a_session_tells_no_news(peer, t):
    peer.put(t, "u", level="user")
    assert news(peer.search("zzz")) == []
