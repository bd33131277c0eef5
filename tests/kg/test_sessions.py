import pytest

from kg.commands import Caller, PutNode, Read, Sync
from kg.limits import SESSION_IDLE_S
from kg.upkeep import expired_sessions
from tests.kg.peer import APP, OTHER, state_of

KEY = "projects/app"


def bound(peer, client, harness="claude"):
    return peer.world.clients.get((harness, client))


# --- how a conversation starts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["startup", "clear", "resume", "fork", "something-new"])
def test_a_conversation_that_kg_does_not_know_gets_a_session_and_the_preload(peer, source):
    peer.put(peer.open(), "a", "the claim")
    reply = peer.start(source, "c1")
    sid = bound(peer, "c1")
    assert f"session_id: {sid} (pass it on every kg call)" in reply.text.splitlines()
    assert "a: the claim" in reply.text
    assert f"session {sid}" in reply.notice
    assert peer.session(sid).preloaded == {(KEY, "a")}
    assert peer.session(sid).view((KEY, "a")).via == "preload"


def test_a_preload_that_was_lost_marks_nothing(peer):
    peer.put(peer.open(), "a")
    peer.start("startup", "c1", arrives=False)
    assert peer.session(bound(peer, "c1")).preloaded == set()


@pytest.mark.parametrize("source", ["resume", "fork", "something-new"])
def test_a_bound_conversation_goes_on_without_a_preload(peer, source):
    peer.start("startup", "c1")
    sid = bound(peer, "c1")
    reply = peer.start(source, "c1")
    assert bound(peer, "c1") == sid
    assert sid in reply.text
    assert "===" not in reply.text
    assert reply.effects == ()


@pytest.mark.parametrize("source", ["startup", "clear"])
def test_a_new_start_under_a_known_client_is_a_new_session(peer, source):
    peer.start("startup", "c1")
    sid = bound(peer, "c1")
    peer.start(source, "c1")
    assert bound(peer, "c1") != sid
    assert sid in peer.world.sessions


def test_compact_is_the_same_session_in_a_new_context(peer):
    writer = peer.open()
    peer.put(writer, "a", "the claim", ["n"])
    peer.start("startup", "c1")
    sid = bound(peer, "c1")
    peer.read(sid)
    peer.read(sid, "a")
    reply = peer.start("compact", "c1")
    session = peer.session(sid)
    assert bound(peer, "c1") == sid
    assert "a: the claim" in reply.text
    assert (session.contexts, session.full_read_seq) == (1, None)
    assert session.preloaded == {(KEY, "a")}
    assert session.view((KEY, "a")).read_seq == peer.node("a").content_seq
    assert peer.put(sid, "a", "the claim", ["mine"]).code is None


def test_compact_forgets_what_is_in_front_of_the_model_but_not_what_was_read(peer):
    writer = peer.open()
    peer.put(writer, "a", "the claim", ["n"])
    sid = peer.open()
    peer.read(sid, "a")
    peer.emit("context_reset", session=sid)
    assert not peer.session(sid).in_context((KEY, "a"))
    assert peer.put(sid, "a", "the claim", ["mine"]).code is None


def test_a_reset_is_activity(peer):
    peer.start("startup", "c1")
    peer.wait(hours=20)
    peer.start("compact", "c1")
    peer.wait(hours=10)
    assert expired_sessions(peer.world, now=peer.now) == []


# --- forks and clones (F8, F12) ------------------------------------------------------------------------------------


def shown(peer, sid):
    """Let a session see something."""
    writer = peer.open()
    peer.put(writer, "a", "the claim", ["n"])
    peer.read(sid, "a")
    peer.useful(sid, "a")


@pytest.mark.parametrize("source", ["fork", "resume", "something-new"])
def test_a_fork_of_a_bound_parent_gets_a_clone_and_the_parent_keeps_its_own(peer, source):
    peer.start("startup", "c1")
    parent = bound(peer, "c1")
    shown(peer, parent)
    reply = peer.start(source, "c2", transcript_session=parent)
    clone = bound(peer, "c2")
    assert clone not in {parent, None}
    assert bound(peer, "c1") == parent
    assert clone in reply.text
    assert parent in reply.text
    assert peer.session(clone).forked_from == parent
    peer.read(parent, "a")
    peer.put(peer.open(), "b", "another", ["m"])
    peer.read(parent, "b")
    assert (KEY, "b") not in peer.session(clone).views


def test_a_clone_copies_views_votes_and_marks_but_no_deliveries(peer):
    peer.start("startup", "c1")
    parent = bound(peer, "c1")
    shown(peer, parent)
    peer.sync(parent)
    under_way = peer.read(parent, "a", arrives=False)
    peer.start("fork", "c2", transcript_session=parent)
    clone, old = peer.session(bound(peer, "c2")), peer.session(parent)
    assert clone.views == old.views
    assert clone.votes == old.votes
    assert (clone.sync_seq, clone.news_seq, clone.full_read_seq) == (old.sync_seq, old.news_seq, old.full_read_seq)
    assert "already voted" in peer.useful(clone.id, "a").text
    assert peer.put(clone.id, "a", "the claim", ["mine"]).code is None
    assert peer.ack(under_way)


def test_a_fork_of_an_unbound_parent_leaves_the_parent_to_its_own_conversation(peer):
    parent = peer.open()
    peer.start("fork", "c2", transcript_session=parent)
    clone = bound(peer, "c2")
    assert clone != parent
    assert peer.session(parent).client_id is None
    peer.prompt("go on", "c1", transcript_session=parent)
    assert bound(peer, "c1") == parent
    assert bound(peer, "c2") == clone


def test_a_transcript_of_another_scope_names_nothing(peer):
    parent = peer.open(OTHER)
    peer.start("resume", "c2", transcript_session=parent)
    assert peer.session(bound(peer, "c2")).forked_from is None
    assert peer.session(bound(peer, "c2")).project == "app"


@pytest.mark.parametrize("named", ["deadbeef", "nonsense", "", "\u202e"])
def test_a_transcript_that_names_no_live_session_starts_anew(peer, named):
    peer.start("resume", "c2", transcript_session=named)
    assert peer.session(bound(peer, "c2")).forked_from is None


def test_compact_of_an_unbound_conversation_clones_what_its_transcript_names_and_preloads(peer):
    parent = peer.open()
    shown(peer, parent)
    reply = peer.start("compact", "c2", transcript_session=parent)
    clone = peer.session(bound(peer, "c2"))
    assert clone.forked_from == parent
    assert "a: the claim" in reply.text
    assert clone.contexts == peer.session(parent).contexts + 1


def test_a_clone_is_the_same_after_a_restart(peer):
    peer.start("startup", "c1")
    shown(peer, bound(peer, "c1"))
    peer.start("fork", "c2", transcript_session=bound(peer, "c1"))
    peer.read(bound(peer, "c2"), "a")
    before = state_of(peer.world)
    peer.restart(from_log=True)
    assert state_of(peer.world) == before


# --- which session a prompt belongs to -----------------------------------------------------------------------------


def test_a_prompt_belongs_to_the_session_of_its_client(peer):
    peer.start("startup", "c1")
    sid = bound(peer, "c1")
    peer.open()
    assert peer.prompt("anything", "c1").session == sid


def test_the_first_prompt_of_an_unknown_conversation_opens_a_session_and_carries_the_preload(peer):
    peer.put(peer.open(), "a", "the claim")
    reply = peer.prompt("anything", "c1")
    assert f"session_id: {bound(peer, 'c1')}" in reply.text
    assert "a: the claim" in reply.text
    assert peer.session(bound(peer, "c1")).preloaded == {(KEY, "a")}


def test_a_prompt_whose_transcript_names_somebody_elses_session_gets_a_clone(peer):
    peer.start("startup", "c1")
    parent = bound(peer, "c1")
    peer.prompt("anything", "c2", transcript_session=parent)
    assert peer.session(bound(peer, "c2")).forked_from == parent
    assert bound(peer, "c1") == parent


def test_a_known_conversation_that_resolves_to_nothing_borrows_no_session(peer):
    peer.open()
    reply = peer.prompt("anything", "c1", transcript_session="deadbeef")
    assert (reply.text, reply.session, reply.events) == ("", None, ())


def test_only_a_client_without_ids_falls_back_to_the_newest_session_of_the_project(peer):
    peer.open()
    newest = peer.open()
    peer.open(OTHER)
    assert peer.prompt("anything", None).session == newest
    assert peer.prompt("anything", "").session == newest
    assert peer.prompt("anything", None, place=None).session is None


def test_a_prompt_without_the_full_read_is_a_reminder(peer):
    peer.start("startup", "c1")
    sid = bound(peer, "c1")
    assert f"kg_read(session_id={sid})" in peer.prompt("anything", "c1").text
    peer.read(sid)
    assert peer.prompt("anything", "c1").text == ""


# --- activity, expiry, held ----------------------------------------------------------------------------------------


def test_every_call_counts_once(peer):
    sid = peer.open()
    calls = [
        lambda: peer.read(sid), lambda: peer.put(sid, "a"), lambda: peer.put(sid, "a"), lambda: peer.put(sid, "no id"),
        lambda: peer.edge(sid, "a", "r", "b"), lambda: peer.edge(sid, "a", "r", "b"), lambda: peer.search("a", sid),
        lambda: peer.useful(sid, "a"), lambda: peer.useful(sid, "a"), lambda: peer.sync(sid),
        lambda: peer.progress(sid, "t"), lambda: peer.progress(sid, "t", {}), lambda: peer.rename(sid, "a", "c"),
        lambda: peer.delete_edge(sid, "c", "r", "b"), lambda: peer.delete_edge(sid, "c", "r", "b"),
        lambda: peer.delete(sid, "c"), lambda: peer.read(sid, more=True), lambda: peer.progress(sid, "chore"),
        lambda: peer.read(sid, "ghost"), lambda: peer.read(sid, place=OTHER),
    ]  # fmt: skip
    for number, call in enumerate(calls, start=2):
        reply = call()
        assert peer.session(sid).ops == number, number
        assert peer.session(sid).active == reply.events[0].ts


def test_a_session_expires_after_a_day_of_silence_and_its_writer_stays_in_the_log(peer):
    sid = peer.open()
    peer.put(sid, "a")
    peer.wait(seconds=SESSION_IDLE_S - 10)
    other = peer.open()
    assert expired_sessions(peer.world, now=peer.now) == []
    peer.wait(seconds=11)
    assert expired_sessions(peer.world, now=peer.now) == [sid]
    peer.emit("session_expired", sessions=[sid])
    assert peer.put(sid, "a").code == "unknown-session"
    assert peer.node("a").by == sid
    assert "▸ a" in peer.read(other, "a").text


def test_an_expired_session_frees_its_client(peer):
    peer.start("startup", "c1")
    peer.emit("session_expired", sessions=[bound(peer, "c1")])
    assert peer.world.clients == {}


def test_expiry_does_not_free_a_client_that_moved_on(peer):
    peer.start("startup", "c1")
    first = bound(peer, "c1")
    peer.start("clear", "c1")
    second = bound(peer, "c1")
    assert peer.session(first).client_id is None
    peer.emit("session_expired", sessions=[first])
    assert bound(peer, "c1") == second


def test_a_clock_set_back_expires_nobody(peer):
    peer.open()
    assert expired_sessions(peer.world, now="1999-01-01T00:00:00.000Z") == []
    assert expired_sessions(peer.world, now="no time") == []


@pytest.mark.parametrize("tool", ["read", "put", "sync"])
def test_who_uses_another_conversations_session_is_served_and_told_its_own(peer, tool):
    peer.start("startup", "c1")
    peer.start("startup", "c2")
    first, second = bound(peer, "c1"), bound(peer, "c2")
    caller = Caller(channel="shim", harness="claude", client_id="c2")
    commands = {"read": Read(first), "put": PutNode(first, "project", "a", "g"), "sync": Sync(first)}
    reply = peer.call(commands[tool], caller=caller)
    assert reply.code is None
    assert f"session {first} belongs to another conversation; yours is {second}" in reply.text
    if tool != "put":
        assert reply.text.splitlines()[-1] == f"Session: {first}"
    own = peer.call(commands[tool], caller=Caller(channel="shim", harness="claude", client_id="c1"))
    assert "belongs to another" not in own.text


def test_two_clients_with_one_session_are_both_served(peer):
    sid = peer.open()
    for client in ("c1", "c2"):
        caller = Caller(channel="shim", harness="claude", client_id=client)
        assert peer.read(sid, caller=caller).code is None


def test_an_own_pass_writes_under_its_maintenance_name_for_ever(peer):
    sid = peer.open(APP)
    peer.read(sid, maintenance=True)
    peer.put(sid, "a")
    assert peer.node("a").by == f"maint:{sid}"
    peer.save()
    peer.restart()
    assert peer.put(sid, "b").events[0].by == f"maint:{sid}"
