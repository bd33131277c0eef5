import pytest

from kg.limits import CREDITS_PER_SESSION, VOTES_GUIDE, VOTES_PER_SESSION
from tests.kg.peer import OTHER, state_of

APP_KEY = "projects/app"


def nodes(peer, sid, count, prefix="n"):
    names = [f"{prefix}{number}" for number in range(count)]
    for name in names:
        peer.put(sid, name)
    return names


def keeper(peer):
    sid = peer.open()
    peer.read(sid, maintenance=True, level="maintain")
    return sid


# --- working sessions ----------------------------------------------------------------------------------------------


def test_each_id_gets_a_line_and_each_accepted_vote_a_stamp(peer, s, t):
    nodes(peer, s, 2)
    reply = peer.useful(t, "n0", "ghost", "n1")
    assert reply.code is None
    assert reply.text.splitlines() == [
        f"Saved: 2 of 3 votes seq {reply.seq}", "  project/n0: counted", "  ghost: NOT FOUND", "  project/n1: counted",
    ]  # fmt: skip
    assert peer.node("n0").useful == (peer.now,)
    assert len(reply.events) == 1


def test_a_vote_is_no_content_write(peer, s, t):
    peer.put(s, "a")
    before = peer.node("a").content_seq
    peer.useful(t, "a")
    assert peer.node("a").content_seq == before
    assert "node a" not in peer.sync(s).text


def test_one_vote_per_node_and_session_also_within_a_call_and_after_a_rename(peer, s, t):
    peer.put(s, "n")
    peer.useful(t, "n", "n")
    peer.rename(s, "n", "m")
    reply = peer.useful(t, "m")
    assert reply.code == "not-allowed"
    assert "already voted" in reply.text
    assert len(peer.node("m").useful) == 1
    assert peer.session(t).votes == {(APP_KEY, "m"): 1}


def test_past_the_guide_it_is_told_and_past_the_cap_refused(peer, s, t):
    names = nodes(peer, s, VOTES_PER_SESSION + 1)
    assert "Note:" not in peer.useful(t, *names[:VOTES_GUIDE]).text
    assert "1 over" in peer.useful(t, names[VOTES_GUIDE]).text
    reply = peer.useful(t, *names[VOTES_GUIDE + 1 :])
    assert reply.text.splitlines()[0].startswith("Saved: 4 of 5")
    assert "no votes left" in reply.text
    assert sum(len(node.useful) for node in peer.graph().nodes.values()) == VOTES_PER_SESSION


def test_the_level_decides_where_an_id_is_looked_up(peer, s):
    peer.put(s, "a", level="user")
    peer.put(s, "a")
    peer.useful(s, "a")
    assert (len(peer.node("a").useful), len(peer.node("a", "user").useful)) == (1, 0)
    peer.useful(s, "a", level="user")
    assert len(peer.node("a", "user").useful) == 1
    assert peer.useful(s, "a", level="maintain").code == "not-found"


def test_only_a_call_without_any_vote_is_an_error(peer, s):
    peer.put(s, "a")
    assert peer.useful(s, "ghost", "a").code is None
    reply = peer.useful(s, "ghost", "phantom")
    assert reply.code == "not-found"
    assert reply.text.splitlines()[1:] == ["  ghost: NOT FOUND", "  phantom: NOT FOUND"]
    assert [event.kind for event in reply.events] == ["session_active"]


def test_what_is_no_id_gets_a_line_and_spoils_nothing(peer, s):
    peer.put(s, "a")
    reply = peer.useful(s, "no id\x1b[2J", "a")
    assert reply.code is None
    assert "bad-id" in reply.text
    assert "\x1b" not in reply.text
    assert len(reply.text.splitlines()) == 3
    assert len(peer.node("a").useful) == 1


def test_credits_are_refused_to_a_working_session(peer, s):
    peer.put(s, "a")
    reply = peer.useful(s, "a", credits=2)
    assert reply.code == "not-allowed"
    assert peer.node("a").useful == ()
    assert reply.logs[0][1]["refused"] == "credits"


# --- maintenance sessions ------------------------------------------------------------------------------------------


def test_a_pass_stamps_as_many_times_as_it_says_and_records_it(peer, s):
    peer.put(s, "a")
    pass_ = keeper(peer)
    peer.useful(pass_, "a", credits=3)
    assert len(peer.node("a").useful) == len(peer.node("a").credited) == 3
    assert peer.session(pass_).credits == 3


def test_a_pass_gives_one_credit_without_a_number(peer, s):
    peer.put(s, "a")
    peer.useful(keeper(peer), "a")
    assert len(peer.node("a").useful) == 1


def test_a_pass_credits_a_node_once_through_all_its_names(peer, s):
    peer.put(s, "n")
    pass_ = keeper(peer)
    peer.useful(pass_, "n", credits=3)
    peer.emit("session_expired", sessions=[s])
    peer.rename(pass_, "n", "m")
    assert "already voted" in peer.useful(pass_, "m", credits=3).text
    assert len(peer.node("m").useful) == 3


def test_a_pass_has_fifteen_credits_in_all(peer, s):
    names = nodes(peer, s, 6)
    pass_ = keeper(peer)
    reply = peer.useful(pass_, *names, credits=3)
    assert reply.text.startswith("Saved: 5 of 6")
    assert peer.session(pass_).credits == CREDITS_PER_SESSION
    assert sum(len(node.useful) for node in peer.graph().nodes.values()) == CREDITS_PER_SESSION


def test_a_credited_orphan_is_archived_again(peer, s):
    peer.put(s, "a")
    peer.emit("tiers_moved", graph=APP_KEY, moves=[{"id": "a", "to": "orphaned"}])
    peer.useful(keeper(peer), "a")
    assert (peer.node("a").tier, peer.node("a").orphaned) == ("archived", None)


def test_a_pass_goes_on_being_one_after_a_restart(peer, s):
    peer.put(s, "a")
    pass_ = keeper(peer)
    peer.save()
    peer.restart()
    assert peer.useful(pass_, "a", credits=3).code is None
    assert peer.read(pass_, "a").events[0].by == f"maint:{pass_}"
    assert peer.node("a").read is None


# --- the log of votes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "via", "surfaced"),
    [(None, "unknown", False), ("read", "read", False), ("search", "search", False), ("full", "full_read", True),
     ("preload", "preload", True)],
)  # fmt: skip
def test_the_record_tells_by_which_route_the_node_came_first(peer, s, route, via, surfaced):
    sid = peer.open()
    peer.put(s, "alpha")
    match route:
        case "read":
            peer.read(sid, "alpha")
        case "search":
            peer.search("alpha", sid)
        case "full":
            peer.read(sid)
        case "preload":
            peer.start("startup", "c1")
            sid = peer.world.clients["claude", "c1"]
    if route:
        peer.read(sid, "alpha")
    ((name, record),) = peer.useful(sid, "alpha").logs
    assert name == "useful"
    assert (record["via"], record["surfaced"]) == (via, surfaced)
    assert record["project"] == "app"
    assert record["session_likes"] == 1


def test_every_id_is_recorded_accepted_or_not(peer, s):
    peer.put(s, "a")
    logs = peer.useful(s, "a", "a", "ghost", "no id").logs
    assert [record.get("refused") for _, record in logs] == [None, "duplicate", "not_found", "not_found"]


def test_the_record_tells_of_promotion_and_tier(peer, s):
    peer.put(s, "a")
    peer.put(s, "b")
    peer.emit("tiers_moved", graph=APP_KEY, moves=[{"id": "a", "to": "archived"}, {"id": "b", "to": "archived"}])
    peer.read(s, "a")
    logs = peer.useful(s, "a", "b").logs
    assert [(record["promoted"], record["archived"]) for _, record in logs] == [(True, False), (False, True)]


# --- recurrence (F32) ----------------------------------------------------------------------------------------------


def test_a_case_joined_to_an_older_lesson_credits_it_once(peer, s):
    peer.put(s, "lesson", level="user")
    peer.put(s, "case")
    reply = peer.edge(s, "case", "instance-of", "lesson")
    assert "Credit: " in reply.text
    lesson, case = peer.node("lesson", "user"), peer.node("case")
    assert lesson.useful == (case.created,)
    assert lesson.recurrences == (case.created_seq,)
    peer.delete_edge(s, "case", "instance-of", "lesson")
    assert "Credit: " not in peer.edge(s, "case", "instance-of", "lesson").text
    assert len(peer.node("lesson", "user").useful) == 1
    record = reply.logs[0][1]
    assert (record["instance"], record["case_seq"], record["at"]) == ("case", case.created_seq, "write")


def test_a_lesson_younger_than_its_case_is_not_credited(peer, s):
    peer.put(s, "case")
    peer.put(s, "lesson")
    assert "Credit: " not in peer.edge(s, "case", "instance-of", "lesson").text


def test_only_project_graphs_reach_up_to_the_users_lessons(peer, s):
    peer.put(s, "lesson", level="user")
    peer.put(s, "case", level="maintain")
    assert "Credit: " not in peer.edge(s, "case", "instance-of", "lesson", level="maintain").text
    assert peer.node("lesson", "user").useful == ()
    peer.put(s, "rule", level="maintain")
    peer.put(s, "case-two", level="maintain")
    assert "Credit: " in peer.edge(s, "case-two", "instance-of", "rule", level="maintain").text


def test_another_projects_case_does_not_reach_this_projects_lesson(peer, s):
    peer.put(s, "lesson")
    q = peer.open(OTHER)
    peer.put(q, "case")
    assert "Credit: " not in peer.edge(q, "case", "instance-of", "lesson").text


def test_stamps_stay_in_the_order_of_time(peer, s, t):
    peer.put(s, "lesson")
    peer.put(s, "case")
    peer.useful(t, "lesson")
    peer.edge(s, "case", "instance-of", "lesson")
    stamps = peer.node("lesson").useful
    assert list(stamps) == sorted(stamps)


# --- stamps are the ledger (I17) -----------------------------------------------------------------------------------


def test_stamps_equal_ledgers_when_sixteen_sessions_vote(peer, s):
    names = nodes(peer, s, 12)
    voters = [peer.open() for _ in range(16)]
    for name in names:
        for sid in voters:
            peer.useful(sid, name, name)
    stamps = sum(len(node.useful) for node in peer.graph().nodes.values())
    ledgers = [sum(peer.session(sid).votes.values()) for sid in voters]
    assert set(ledgers) == {VOTES_PER_SESSION}
    assert stamps == sum(ledgers)


def test_a_vote_is_in_both_places_after_any_restart(peer, s, t):
    peer.put(s, "a")
    peer.save()
    peer.useful(t, "a")
    peer.save(APP_KEY)
    before = state_of(peer.world)
    peer.restart()
    assert state_of(peer.world) == before
    assert "already voted" in peer.useful(t, "a").text
