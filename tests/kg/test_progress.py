import json

import pytest

from kg.codec import event_line
from kg.limits import STATE_BYTES, TRAIL_ENTRIES, TRAIL_ITEMS, TRAIL_TEXT_CHARS
from tests.kg.peer import state_of


def stored(peer, sid, task="port"):
    return json.loads(peer.progress(sid, task).text)


def test_without_a_stored_state_the_answer_is_one_word(peer, s):
    assert peer.progress(s, "port").text == "none"


def test_a_state_is_stored_with_the_servers_time(peer, s):
    reply = peer.progress(s, "port", {"step": 3, "last": "2099-01-01", "trail": ["forged"]})
    assert reply.text == f"Saved: progress port seq {reply.seq}"
    state = stored(peer, s)
    assert state["step"] == 3
    assert state["last"] == reply.events[-1].ts
    assert state["trail"] == [{"step": 3, "at": reply.events[-1].ts}]


def test_the_trail_keeps_the_last_twenty_in_short(peer, s):
    long = {"text": "x" * 1000, "list": list(range(20)), "object": {"a": "y" * 1000}, "nested": [["z" * 1000], 1]}
    for number in range(25):
        peer.progress(s, "port", {**long, "number": number})
    trail = stored(peer, s)["trail"]
    assert [entry["number"] for entry in trail] == list(range(5, 25))
    assert len(trail) == TRAIL_ENTRIES
    entry = trail[-1]
    assert len(entry["text"]) == TRAIL_TEXT_CHARS
    assert entry["list"] == list(range(TRAIL_ITEMS))
    assert isinstance(entry["object"], str)
    assert len(entry["object"]) == TRAIL_TEXT_CHARS
    assert len(entry["nested"][0]) == TRAIL_TEXT_CHARS
    assert stored(peer, s)["text"] == "x" * 1000


def test_a_state_cannot_forge_the_time_of_its_trail_entry(peer, s):
    reply = peer.progress(s, "port", {"at": "1999-01-01"})
    assert stored(peer, s)["trail"][0]["at"] == reply.events[-1].ts


def test_states_are_kept_by_level_and_task_and_survive_a_restart(peer, s):
    peer.progress(s, "port", {"n": 1})
    peer.progress(s, "port", {"n": 2}, level="project")
    peer.progress(s, "other-task", {"n": 3})
    peer.save("user")
    before = state_of(peer.world)
    peer.restart()
    assert state_of(peer.world) == before
    assert stored(peer, s)["n"] == 1
    assert json.loads(peer.progress(s, "port", level="project").text)["n"] == 2


def test_the_same_call_again_is_one_more_trail_entry(peer, s):
    for _ in range(2):
        peer.progress(s, "port", {"n": 1})
    state = stored(peer, s)
    assert state["n"] == 1
    assert len(state["trail"]) == 2


@pytest.mark.parametrize("task", ["maintain", "chore"])
@pytest.mark.parametrize("state", [None, {"n": 1}])
def test_two_task_ids_mark_the_session_as_maintenance(peer, s, task, state):
    ops = peer.session(s).ops
    reply = peer.progress(s, task, state)
    assert peer.session(s).maintenance
    assert peer.session(s).ops == ops + 1
    assert reply.events[-1].by == f"maint:{s}"


def test_other_task_ids_do_not(peer, s):
    peer.progress(s, "maintain-docs", {"n": 1})
    assert not peer.session(s).maintenance


def test_a_task_id_is_an_id(peer, s):
    assert peer.progress(s, "no id", {"n": 1}).code == "bad-id"


def test_a_state_of_64_kib_fits_and_one_byte_more_does_not(peer, s):
    room = STATE_BYTES - len('{"t":""}')
    assert peer.progress(s, "port", {"t": "x" * room}).code is None
    before = state_of(peer.world)["graphs"]
    assert peer.progress(s, "port", {"t": "x" * (room + 1)}).code == "bad-arguments"
    assert state_of(peer.world)["graphs"] == before


def test_a_refused_state_marks_nothing(peer, s):
    assert peer.progress(s, "maintain", {"t": "x" * STATE_BYTES}).code == "bad-arguments"
    assert not peer.session(s).maintenance


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [nested(40), nested(900), 2**64, -(2**70), float("nan"), float("inf")], ids=lambda value: str(value)[:8]
)
def test_a_state_that_no_file_could_hold_is_refused(peer, s, value):
    assert peer.progress(s, "port", {"v": value}).code == "bad-arguments"


def test_lone_surrogates_and_controls_are_cleaned_wherever_they_stand(peer, s):
    reply = peer.progress(s, "port", {"k\ud800": ["bad \udfff\x00 end", {"x\x1b": 1}]})
    assert reply.code is None
    assert all(event_line(event) for event in reply.events)
    state = stored(peer, s)
    assert state["k\ufffd"] == ["bad \ufffd end", {"x": 1}]


def test_the_project_level_needs_a_project(peer):
    assert peer.progress(peer.open(None), "port", {"n": 1}, level="project").code == "no-project"
