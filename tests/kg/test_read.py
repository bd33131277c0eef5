import pytest

from kg.commands import Caller, Place
from kg.harness import row_of
from tests.kg.peer import APP, OTHER, state_of

KEY = "projects/app"


def last(reply):
    return reply.text.splitlines()[-1]


# --- whose session -------------------------------------------------------------------------------------------------


def test_a_folder_opens_a_session_of_its_project(peer):
    reply = peer.read(None, place=APP)
    session = peer.session(reply.session)
    assert (session.project, session.scope) == ("app", "project")
    assert last(reply) == f"Session: {session.id}"
    assert session.ops == 1


@pytest.mark.parametrize("place", [None, Place(None)])
def test_no_folder_or_a_user_only_one_opens_a_user_session_with_a_note_how_to_attach(peer, place):
    reply = peer.read(None, place=place)
    assert peer.session(reply.session).scope == "user"
    assert "attaches a project" in reply.text
    assert list(peer.world.projects) == []


def test_a_folder_that_could_not_be_used_is_noted(peer):
    assert "Note: /gone is no folder" in peer.read(None, place=Place(None, note="/gone is no folder")).text


def test_a_known_session_goes_on_without_a_folder(peer, s):
    reply = peer.read(s)
    assert last(reply) == f"Session: {s}"
    assert [event.kind for event in reply.events] == ["session_active"]


def test_a_folder_attaches_a_project_once_and_everything_seen_stays(peer):
    sid = peer.open(None)
    peer.put(sid, "u", level="user")
    reply = peer.read(sid, place=APP)
    assert "project app is attached" in reply.text
    assert "=== PROJECT app" in reply.text
    assert (peer.session(sid).project, peer.session(sid).scope) == ("app", "project")
    assert peer.session(sid).view(("user", "u")).read_seq is not None
    assert peer.put(sid, "p").code is None
    assert "attached" not in peer.read(sid, place=APP).text


@pytest.mark.parametrize(
    ("root", "noted"), [("/home/ada/app", False), ("/home/ada/app/lib/sub", False), ("/home/ada/application", True),
                        ("/home/ada", True), (None, True)],
)  # fmt: skip
def test_a_bound_session_is_never_bound_again_and_a_folder_outside_is_noted(peer, s, root, noted):
    reply = peer.read(s, place=Place(root))
    assert ("cwd was ignored" in reply.text) is noted
    assert peer.session(s).project == "app"
    assert list(peer.world.projects) == ["app"]


def test_deciding_to_attach_changes_nothing_by_itself(peer):
    """A read that attaches and is then refused leaves the session as it was."""
    peer.open(APP)
    sid = peer.open(None)
    peer.world.unreadable["projects/app"] = "broken"
    before = state_of(peer.world)["table"]["sessions"][sid]["project"]
    reply = peer.read(sid, place=APP, level="project")
    assert reply.code == "unreadable-graph"
    assert peer.session(sid).project is before is None


def test_an_unknown_session_without_a_folder_is_refused_and_with_one_replaced(peer):
    assert peer.read("deadbeef").code == "unknown-session"
    reply = peer.read("deadbeef\x1b[2J\u202e", place=APP)
    assert f"{reply.session} replaces it" in reply.text
    assert not {"\x1b", "\u202e"} & set(reply.text)


def test_an_expired_session_is_unknown(peer, s):
    peer.emit("session_expired", sessions=[s])
    assert peer.read(s).code == "unknown-session"
    assert peer.read(s, place=APP).session not in {None, s}


def test_case_and_blanks_of_the_session_id_do_not_matter(peer, s):
    assert peer.read(f" {s.upper()} ").session == s


def test_two_roots_of_one_name_are_two_projects(peer):
    peer.open(Place("/home/ada/one/app"))
    peer.open(Place("/home/ada/two/app"))
    assert peer.world.roots == {"/home/ada/one/app": "app", "/home/ada/two/app": "app-2"}


def test_a_project_that_moved_takes_its_graph_along(peer, s):
    peer.put(s, "a")
    reply = peer.read(None, place=Place("/srv/app", moved_slug="app"))
    assert "a: one claim" in reply.text
    assert peer.world.projects["app"].root == "/srv/app"
    assert peer.world.projects["app"].former_roots == ("/home/ada/app",)
    assert peer.graph().root == "/srv/app"


def test_codex_is_told_how_to_trust_the_hooks_until_one_has_run(peer):
    codex = Caller(harness="codex")
    assert "/hooks" in peer.read(None, place=APP, caller=codex).text
    assert "/hooks" not in peer.read(None, place=APP, caller=Caller(harness="claude")).text
    peer.start("startup", "c1", harness="codex")
    assert "/hooks" not in peer.read(None, place=APP, caller=codex).text
    assert "/hooks" in peer.read(None, place=OTHER, caller=codex).text


def test_a_session_that_kg_read_opens_belongs_to_its_conversation_unless_that_has_one(peer):
    first = peer.read(None, place=APP, caller=Caller(harness="codex", client_id="c1")).session
    second = peer.read(None, place=APP, caller=Caller(harness="codex", client_id="c1")).session
    assert peer.world.clients == {("codex", "c1"): first}
    assert (peer.session(first).client_id, peer.session(second).client_id) == ("c1", None)


@pytest.mark.parametrize("client", ["", "x" * 257, "a\x00b", "a\nb", "a\ud800"])
def test_a_client_id_that_cannot_be_kept_is_none(peer, client):
    reply = peer.read(None, place=APP, caller=Caller(harness="codex", client_id=client))
    assert peer.session(reply.session).client_id is None
    assert peer.world.clients == {}


# --- full read -----------------------------------------------------------------------------------------------------


def test_the_first_full_read_asks_to_announce_and_later_ones_do_not(peer):
    reply = peer.read(None, place=APP)
    assert "Tell the user" in reply.text
    assert peer.session(reply.session).full_read_seq is not None
    assert "Tell the user" not in peer.read(reply.session).text


def test_a_full_read_that_was_lost_is_none(peer):
    reply = peer.read(None, place=APP, arrives=False)
    assert peer.session(reply.session).full_read_seq is None
    assert "Tell the user" in peer.read(reply.session).text


@pytest.mark.parametrize("level", ["user", "project", "maintain"])
def test_one_level_alone_is_no_full_read(peer, s, level):
    peer.emit("context_reset", session=s)
    reply = peer.read(s, level=level)
    assert peer.session(s).full_read_seq is None
    assert level.upper() in reply.text
    assert reply.text.count("===") == 2


def test_gists_shown_are_seen_and_bare_anchors_are_not(peer, s, t):
    peer.put(t, "a")
    peer.put(t, "b")
    peer.emit("tiers_moved", graph=KEY, moves=[{"id": "b", "to": "archived"}])
    peer.read(s)
    assert peer.session(s).view((KEY, "a")).via == "full_read"
    assert (KEY, "b") not in peer.session(s).views


def test_a_preloaded_line_marks_nothing(peer, t):
    peer.put(t, "a", "old")
    peer.start("startup", "c1")
    sid = peer.world.clients["claude", "c1"]
    seen = peer.session(sid).view((KEY, "a"))
    assert "a (preloaded)" in peer.read(sid).text
    assert peer.session(sid).view((KEY, "a")) == seen


def test_an_unreadable_project_is_noted_and_the_user_graph_served(peer, s):
    peer.put(s, "u", level="user")
    peer.world.unreadable[KEY] = "/x/graph.json: line 3"
    text = peer.read(s).text
    assert "u: one claim" in text
    assert "cannot be read" in text


# --- nodes ---------------------------------------------------------------------------------------------------------


def test_nodes_come_in_the_order_asked_each_once(peer, s):
    for node_id in ("a", "b"):
        peer.put(s, node_id)
    lines = peer.read(s, "b", "a", "b").text.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("▸")] == ["b", "a"]
    assert last(peer.read(s, "a")) == f"Session: {s}"


def test_two_forms_of_one_id_are_one_node(peer, s):
    peer.put(s, "\u00e9")
    assert peer.read(s, "e\u0301", "\u00e9").text.count("▸") == 1


def test_a_read_grants_the_full_view_and_a_read_stamp(peer, s, t):
    peer.put(t, "a", notes=["n"])
    peer.read(s, "a")
    view = peer.session(s).view((KEY, "a"))
    assert view.seen_seq == view.read_seq == peer.node("a").content_seq
    assert view.via == "read"
    assert peer.node("a").read == peer.now


def test_a_read_that_was_lost_grants_nothing(peer, s, t):
    peer.put(t, "a", notes=["n"])
    peer.read(s, "a", arrives=False)
    assert (KEY, "a") not in peer.session(s).views
    assert peer.node("a").read is None


def test_a_missing_id_is_a_line_and_only_all_missing_is_an_error(peer, s):
    peer.put(s, "a")
    reply = peer.read(s, "ghost", "a")
    assert reply.code is None
    assert reply.text.startswith("NOT FOUND: ghost;")
    reply = peer.read(s, "ghost", "phantom")
    assert reply.code == "not-found"
    assert last(reply) == f"Session: {s}"
    assert (KEY, "ghost") not in peer.session(s).views


def test_what_is_no_id_is_a_line_and_spoils_nothing(peer, s):
    peer.put(s, "a")
    reply = peer.read(s, "no id\x1b", "a")
    assert reply.code is None
    assert reply.text.startswith("Error (bad-id): ")
    assert "▸ a" in reply.text
    assert "\x1b" not in reply.text
    assert peer.read(s, "no id").code == "bad-id"


def test_a_new_session_is_named_even_when_its_node_is_not_found(peer):
    reply = peer.read(None, "ghost", place=APP)
    assert reply.code == "not-found"
    assert last(reply) == f"Session: {reply.session}"
    assert reply.session in peer.world.sessions


def test_the_project_is_looked_up_first_and_a_level_names_one_graph(peer, s):
    peer.put(s, "a", "the users", level="user")
    peer.put(s, "m", "maintained", level="maintain")
    assert "the users" in peer.read(s, "a").text
    peer.put(s, "a", "the projects")
    assert "the projects" in peer.read(s, "a").text
    assert "the users" in peer.read(s, "a", level="user").text
    assert peer.read(s, "m").code == "not-found"
    assert "maintained" in peer.read(s, "m", level="maintain").text


def test_a_project_level_without_a_project_is_refused(peer):
    assert peer.read(peer.open(None), level="project").code == "no-project"


# --- promotion -----------------------------------------------------------------------------------------------------


def archived(peer, sid, *names, to="archived"):
    for name in names:
        peer.put(sid, name)
    peer.emit("tiers_moved", graph=KEY, moves=[{"id": name, "to": to} for name in names])


@pytest.mark.parametrize("tier", ["archived", "orphaned"])
def test_reading_by_id_brings_a_node_back_once_it_arrived(peer, s, tier):
    archived(peer, s, "a", to=tier)
    reply = peer.read(s, "a", arrives=False)
    assert "▸ a (project, promoted" in reply.text
    assert peer.node("a").tier == tier
    peer.ack(reply)
    node = peer.node("a")
    assert (node.tier, node.used, node.orphaned) == ("active", peer.now, None)


def test_orphaned_neighbours_come_one_step_nearer(peer, s):
    archived(peer, s, "a", "b", "c", to="orphaned")
    peer.edge(s, "b", "r", "a")
    peer.edge(s, "b", "r", "c")
    peer.read(s, "a")
    assert [peer.node(node_id).tier for node_id in "abc"] == ["active", "archived", "orphaned"]


def test_a_maintenance_read_promotes_and_stamps_nothing(peer, s):
    archived(peer, s, "a")
    reply = peer.read(s, "a", maintenance=True)
    assert "▸ a (project, archived" in reply.text
    assert (peer.node("a").tier, peer.node("a").read) == ("archived", None)
    assert peer.session(s).maintenance


@pytest.mark.parametrize("how", ["full", "search"])
def test_nothing_else_promotes(peer, s, how):
    archived(peer, s, "alpha")
    peer.read(s) if how == "full" else peer.search("alpha", s)
    assert peer.node("alpha").tier == "archived"


# --- maintenance ---------------------------------------------------------------------------------------------------


def test_marking_counts_as_a_call_and_lasts(peer, s):
    ops = peer.session(s).ops
    peer.read(s, maintenance=True)
    assert peer.session(s).ops == ops + 1
    assert peer.session(s).active >= peer.now[:16]
    sid = peer.read(None, place=APP, maintenance=True).session
    assert peer.session(sid).maintenance
    assert peer.session(sid).ops == 1


def test_the_maintain_level_shows_the_notes_of_its_nodes(peer, s):
    peer.put(s, "rule", "do so", ["because"], level="maintain")
    text = peer.read(s, level="maintain").text
    assert text.startswith("=== MAINTAIN — 1 lessons, 0 archived ===")
    assert "  - because" in text
    assert last(peer.read(s, level="maintain")) == f"Session: {s}"


# --- parts (F13) ---------------------------------------------------------------------------------------------------


def long_nodes(peer, sid, *names, size=30_000):
    for name in names:
        peer.put(sid, name, "g", [f"{name}-first " + "x" * size, f"{name}-last"])


def test_a_node_counts_as_read_with_the_part_that_holds_its_last_line(peer, s, t):
    long_nodes(peer, t, "n", "m")
    first = peer.read(s, "n", "m", arrives=False)
    assert "n-last" in first.text
    assert "m-last" not in first.text
    assert peer.ack(first)
    assert peer.put(s, "n", "g", ["mine"]).code is None
    assert peer.put(s, "m", "g", ["mine"], arrives=False).code == "partial-view"


def test_after_the_second_part_the_rest_is_read_too(peer, s, t):
    long_nodes(peer, t, "n", "m")
    peer.read(s, "n", "m")
    second = peer.read(s, more=True)
    assert second.text.splitlines()[-1].startswith("Part 2 of 2.")
    assert peer.put(s, "m", "g", ["mine"]).code is None
    assert peer.read(s, more=True).text == "Nothing more to read."


def test_a_lost_part_comes_again(peer, s, t):
    long_nodes(peer, t, "n", "m")
    first = peer.read(s, "n", "m", arrives=False)
    again = peer.read(s, more=True, arrives=False)
    assert again.text == first.text
    assert peer.ack(again)
    second = peer.read(s, more=True, arrives=False)
    assert second.text != first.text
    assert peer.read(s, more=True, arrives=False).text == second.text
    assert peer.ack(first)
    assert peer.read(s, more=True).text == second.text


def test_the_parts_stay_those_of_their_rendering(peer, s, t):
    long_nodes(peer, t, "n", "m")
    peer.read(s, "n", "m")
    seq = peer.node("m").content_seq
    peer.put(t, "m", "changed meanwhile")
    assert "changed meanwhile" not in peer.read(s, more=True).text
    assert peer.session(s).view((KEY, "m")).read_seq == seq
    assert peer.put(s, "m", "mine").code == "stale-view"


def test_parts_survive_a_restart(peer, s, t):
    long_nodes(peer, t, "n", "m")
    peer.read(s, "n", "m")
    peer.save("sessions")
    peer.restart()
    assert "m-last" in peer.read(s, more=True).text
    assert peer.put(s, "m", "g", ["mine"]).code is None


def test_parts_join_to_the_whole_reply_and_none_is_too_long(peer, s, t):
    row = row_of("codex")
    notes = [f"line {number} " + "ü" * 900 for number in range(150)]
    peer.put(t, "n", "g", notes)
    codex = Caller(harness="codex")
    texts = [peer.read(s, "n", caller=codex).text]
    while "Next: " in texts[-1]:
        texts.append(peer.read(s, more=True, caller=codex).text)
    assert len(texts) > 3
    assert all(row.measure(text) <= row.part_limit for text in texts)
    joined = "\n".join(text.rpartition("\n")[0] for text in texts)
    assert [line.removeprefix("  - ") for line in joined.splitlines() if line.startswith("  - ")] == notes


def joined(texts):
    """The reply that these parts were cut from."""
    whole = ""
    for text in texts:
        body = text.rpartition("\n")[0]
        whole += body.removeprefix("… ") if body.startswith("… ") else f"\n{body}"
    return whole[1:]


@pytest.mark.parametrize("piece", ["y", "ü", "👩‍💻", "é"], ids=["ascii", "umlaut", "emoji", "mark"])
@pytest.mark.parametrize("harness", ["claude", "codex", "antigravity"])
def test_a_line_longer_than_a_part_goes_on_behind_a_mark_and_splits_no_cluster(peer, s, t, piece, harness):
    row, caller = row_of(harness), Caller(harness=harness)
    note = piece * (100_000 // len(piece))
    peer.put(t, "n", "g", [note])
    texts = [peer.read(s, "n", caller=caller).text]
    while "Next: " in texts[-1]:
        texts.append(peer.read(s, more=True, caller=caller).text)
    assert all(row.measure(text) <= row.part_limit for text in texts)
    assert f"  - {note}\n" in joined(texts)
    for text in texts[:-1]:
        body = text.rpartition("\n")[0]
        assert body.endswith((piece, "notes:"))


def test_one_cluster_longer_than_a_part_is_cut_all_the_same(peer, s, t):
    note = "a" + "́" * 20_000
    peer.put(t, "n", "g", [note])
    caller = Caller(harness="antigravity")
    texts = [peer.read(s, "n", caller=caller).text]
    while "Next: " in texts[-1]:
        texts.append(peer.read(s, more=True, caller=caller).text)
    assert f"  - {note}\n" in joined(texts)


@pytest.mark.parametrize("event", ["read", "reset", "expired"])
def test_undelivered_parts_go_without_effect(peer, s, t, event):
    long_nodes(peer, t, "n", "m")
    archived(peer, t, "p")
    peer.read(s, "n", "m", "p", arrives=False)
    if event == "read":
        peer.read(s, "ghost")
    elif event == "reset":
        peer.emit("context_reset", session=s)
    else:
        peer.emit("session_expired", sessions=[s])
        s = peer.open()
    assert peer.read(s, more=True).text == "Nothing more to read."
    assert peer.node("p").tier == "archived"
    assert peer.session(s).view((KEY, "m")).read_seq is None


def test_a_late_acknowledgement_of_an_older_long_reply_leaves_the_new_one_whole(peer, s, t):
    long_nodes(peer, t, "n", "m", "o", "p")
    old = peer.read(s, "n", "m", arrives=False)
    new = peer.read(s, "o", "p", arrives=False)
    assert peer.ack(old)
    assert peer.session(s).view((KEY, "n")).read_seq is not None
    assert peer.read(s, more=True).text == new.text


def test_more_in_another_session_is_nothing(peer, s, t):
    long_nodes(peer, t, "n", "m")
    peer.read(s, "n", "m")
    assert peer.read(t, more=True).text == "Nothing more to read."


def test_a_paged_refusal_is_an_error_in_its_first_part_only(peer, s, t):
    long_nodes(peer, t, "n", size=60_000)
    first = peer.put(s, "n", "g", ["mine"])
    assert first.code == "partial-view"
    assert "Part 1 of 3." in first.text
    assert peer.put(s, "n", "g", ["mine"]).code == "partial-view"
    for _ in range(2):
        assert peer.read(s, more=True).code is None
    assert peer.put(s, "n", "g", ["mine"]).code is None


def test_the_full_read_flag_comes_with_the_last_part(peer, t):
    for number in range(400):
        peer.put(t, f"node-{number}", "z" * 200)
    reply = peer.read(None, place=APP)
    sid = reply.session
    assert peer.session(sid).full_read_seq is None
    while "Next: " in reply.text:
        assert peer.session(sid).full_read_seq is None
        reply = peer.read(sid, more=True)
    assert peer.session(sid).full_read_seq is not None
    assert len(peer.session(sid).views) == 400


# --- acknowledgements ----------------------------------------------------------------------------------------------


def test_an_acknowledgement_counts_once(peer, s, t):
    peer.put(t, "a")
    reply = peer.read(s, "a", arrives=False)
    assert peer.ack(reply)
    seq = peer.world.seq
    assert not peer.ack(reply)
    assert peer.world.seq == seq


def test_an_acknowledgement_from_before_a_context_reset_is_refused(peer, s, t):
    peer.put(t, "a")
    reply = peer.read(s, "a", arrives=False)
    peer.emit("context_reset", session=s)
    assert not peer.ack(reply)
    assert (KEY, "a") not in peer.session(s).views


@pytest.mark.parametrize("delivery", ["start1-999", "", "nonsense", "start1-1\x00"])
def test_an_unknown_acknowledgement_is_false_and_harmless(peer, s, delivery):
    seq = peer.world.seq
    assert not peer.ack(delivery)
    assert peer.world.seq == seq


def test_an_acknowledgement_of_an_expired_session_is_false(peer, s, t):
    peer.put(t, "a")
    reply = peer.read(s, "a", arrives=False)
    peer.emit("session_expired", sessions=[s])
    assert not peer.ack(reply)


def test_views_never_move_back(peer, s, t):
    peer.put(t, "a", "one")
    older = peer.read(s, "a", arrives=False)
    peer.put(t, "a", "two")
    peer.read(s, "a")
    view = peer.session(s).view((KEY, "a"))
    assert peer.ack(older)
    assert peer.session(s).view((KEY, "a")) == view


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "more"), [((), {"place": APP}), ((), {"level": "user"}), ((), {"maintenance": True}), (("a",), {})]
)
def test_more_with_anything_else_is_refused(peer, s, ids, more):
    assert peer.read(s, *ids, more=True, **more).code == "bad-arguments"


def test_more_without_a_session_is_refused(peer):
    assert peer.read(None, more=True).code == "bad-arguments"
    assert peer.read("deadbeef", more=True).code == "unknown-session"
