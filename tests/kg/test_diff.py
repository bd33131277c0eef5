import json

import pytest

from kg.diff import base_of, edits
from kg.graphfile import parse_graph
from tests.kg.peer import OTHER, Peer, file_of, state_of

KEY = "projects/app"


class Editor:
    """A person with a text editor and the service that looks at the file."""

    def __init__(self, key=KEY):
        self.peer = Peer()
        self.sid = self.peer.open()
        self.key = key
        self.level = "project" if key == KEY else key
        self.save()

    def save(self):
        """Kg writes the file."""
        self.base = base_of(self.peer.world.graph(self.key))
        self.file = json.loads(file_of(self.peer.world, self.key))

    def put(self, node_id, *args, **more):
        return self.peer.put(self.sid, node_id, *args, level=self.level, **more)

    def take(self):
        """Kg sees what the person made of the file."""
        document = parse_graph(json.dumps(self.file).encode())
        graph = self.peer.world.graph(self.key)
        found = edits(self.peer.world, graph, self.base, document, now=self.peer.now)
        self.peer.emit_all(found.events, by="file")
        return found

    def node(self, node_id):
        return self.peer.node(node_id, self.level)


@pytest.fixture
def editor():
    made = Editor()
    made.put("a", "claim", ["n"], ["src/a.py"])
    made.put("b", "other")
    made.peer.edge(made.sid, "a", "r", "b", ["x"])
    made.save()
    return made


def test_a_file_as_kg_wrote_it_has_no_differences(editor):
    assert editor.take().events == ()


def test_another_order_and_layout_are_no_differences(editor):
    editor.file = {
        "edges": editor.file["edges"][::-1], "nodes": dict(reversed(editor.file["nodes"].items())),
        "meta": editor.file["meta"],
    }  # fmt: skip
    assert editor.take().events == ()


def test_a_changed_text_is_a_content_write_by_file(editor):
    before = editor.node("a")
    editor.file["nodes"]["a"]["gist"] = "by hand"
    assert editor.take().conflicts == ()
    node = editor.node("a")
    assert (node.gist, node.by, node.notes) == ("by hand", "file", ("n",))
    assert node.content_seq == editor.peer.world.seq > before.content_seq
    assert editor.peer.put(editor.sid, "a", "mine").code == "stale-view"


def test_only_what_the_person_changed_is_applied(editor):
    editor.put("a", "claim", ["n", "by the agent"])
    editor.file["nodes"]["a"]["gist"] = "by hand"
    assert editor.take().conflicts == ()
    assert (editor.node("a").gist, editor.node("a").notes) == ("by hand", ("n", "by the agent"))


def test_where_both_changed_the_persons_value_wins_and_the_node_is_named(editor):
    reply = editor.put("a", "by the agent")
    editor.file["nodes"]["a"]["gist"] = "by hand"
    found = editor.take()
    assert found.conflicts == ("a",)
    assert editor.node("a").gist == "by hand"
    assert found.events[0]["was"] == {"gist": "by the agent"}
    assert reply.code is None


def test_where_both_wrote_the_same_nothing_happens(editor):
    editor.put("a", "the same")
    editor.file["nodes"]["a"]["gist"] = "the same"
    assert editor.take() == type(editor.take())((), ())


def test_an_own_change_elsewhere_is_no_conflict(editor):
    editor.put("b", "by the agent")
    editor.file["nodes"]["a"]["gist"] = "by hand"
    assert editor.take().conflicts == ()
    assert editor.node("b").gist == "by the agent"


def test_a_new_node_is_created_with_the_time_of_now(editor):
    editor.file["nodes"]["c"] = {"gist": "new", "notes": ["n"]}
    now = editor.peer.now
    editor.take()
    node = editor.node("c")
    assert (node.gist, node.notes, node.by, node.created) == ("new", ("n",), "file", now)
    assert node.created_seq == node.content_seq == editor.peer.world.seq


def test_numbers_by_hand_are_ignored_and_times_tier_and_lock_are_taken(editor):
    old = "2020-01-01T00:00:00.000Z"
    before = editor.node("a")
    editor.file["nodes"]["a"] |= {
        "created_seq": 999, "content_seq": 999, "by": "nobody", "created": old, "used": old, "useful": [old],
        "tier": "archived",
    }  # fmt: skip
    editor.file["edges"][0] |= {"seq": 999, "by": "nobody"}
    editor.take()
    node = editor.node("a")
    assert (node.created_seq, node.content_seq, node.by) == (before.created_seq, before.content_seq, before.by)
    assert (node.created, node.used, node.useful, node.tier) == (old, old, (old,), "archived")
    assert editor.peer.graph().edges["a", "r", "b"].seq < 999


def test_a_lock_makes_active_and_an_orphan_gets_a_time(editor):
    editor.file["nodes"]["a"] |= {"tier": "archived", "locked": True}
    editor.file["nodes"]["b"] |= {"tier": "orphaned"}
    now = editor.peer.now
    editor.take()
    assert (editor.node("a").tier, editor.node("a").locked) == ("active", True)
    assert (editor.node("b").tier, editor.node("b").orphaned) == ("orphaned", now)


def test_a_lock_is_taken_off_by_hand(editor):
    editor.file["nodes"]["a"]["locked"] = True
    editor.take()
    editor.save()
    del editor.file["nodes"]["a"]["locked"]
    editor.take()
    assert editor.node("a").locked is False


def test_optional_fields_that_are_taken_out_go(editor):
    editor.peer.useful(editor.sid, "a")
    editor.save()
    for name in ("used", "useful"):
        del editor.file["nodes"]["a"][name]
    editor.take()
    assert (editor.node("a").used, editor.node("a").useful) == (None, ())


def test_keys_that_kg_does_not_know_come_and_go(editor):
    editor.file["nodes"]["a"]["colour"] = "red"
    editor.file["edges"][0]["colour"] = "blue"
    editor.take()
    assert editor.node("a").extra == {"colour": "red"}
    assert editor.peer.graph().edges["a", "r", "b"].extra == {"colour": "blue"}
    editor.save()
    del editor.file["nodes"]["a"]["colour"]
    del editor.file["edges"][0]["colour"]
    editor.take()
    assert editor.node("a").extra == {}
    assert editor.peer.graph().edges["a", "r", "b"].extra == {}


def test_a_node_that_vanished_goes_with_its_edges(editor):
    del editor.file["nodes"]["b"]
    editor.file["edges"] = []
    found = editor.take()
    assert [event["kind"] for event in found.events] == ["node_deleted"]
    assert "b" not in editor.peer.graph().nodes
    assert not editor.peer.graph().edges
    assert found.events[0]["was"]["gist"] == "other"


def test_a_user_node_that_vanished_takes_the_edges_of_projects_along():
    editor = Editor("user")
    editor.put("u")
    editor.save()
    q = editor.peer.open(OTHER)
    editor.peer.edge(q, "q", "r", "u")
    del editor.file["nodes"]["u"]
    editor.take()
    assert not editor.peer.graph(slug="other").edges


def test_edges_come_change_and_go(editor):
    editor.file["edges"] = [
        {"from": "a", "rel": "r", "to": "b", "notes": ["by hand"]}, {"from": "b", "rel": "in", "to": "src/my file.py"},
    ]  # fmt: skip
    editor.take()
    graph = editor.peer.graph()
    assert graph.edges["a", "r", "b"].notes == ("by hand",)
    assert graph.edges["b", "in", "src/my file.py"].by == "file"
    assert graph.edges["a", "r", "b"].seq == editor.peer.world.seq
    editor.save()
    editor.file["edges"] = []
    editor.take()
    assert not editor.peer.graph().edges


def test_an_edge_that_an_agent_wrote_meanwhile_stays(editor):
    editor.peer.edge(editor.sid, "b", "q", "a")
    editor.file["nodes"]["a"]["gist"] = "by hand"
    editor.take()
    assert len(editor.peer.graph().edges) == 2


def test_a_state_of_a_task_is_taken(editor):
    editor.file["meta"]["progress"] = {"port": {"step": 7}}
    editor.take()
    assert '"step":7' in editor.peer.progress(editor.sid, "port", level="project").text


def test_an_edit_of_a_node_that_was_renamed_meanwhile_follows_it(editor):
    editor.peer.rename(editor.sid, "a", "c")
    editor.file["nodes"]["a"]["touches"] = ["src/by-hand.py"]
    found = editor.take()
    assert "a" not in editor.peer.graph().nodes
    assert (editor.node("c").touches, editor.node("c").notes) == (("src/by-hand.py",), ("n",))
    assert found.events[0]["id"] == "c"


def test_an_edit_of_a_node_that_was_deleted_meanwhile_brings_it_back_whole(editor):
    editor.peer.delete(editor.sid, "a")
    editor.file["nodes"]["a"]["touches"] = ["src/by-hand.py"]
    found = editor.take()
    assert found.conflicts == ("a",)
    node = editor.node("a")
    assert (node.gist, node.notes, node.touches) == ("claim", ("n",), ("src/by-hand.py",))
    assert parse_graph(file_of(editor.peer.world, KEY)).nodes["a"] == node


def test_a_node_that_nobody_edited_does_not_come_back(editor):
    editor.peer.delete(editor.sid, "a")
    editor.peer.rename(editor.sid, "b", "c")
    assert editor.take().events == ()


def test_an_unknown_base_makes_everything_of_the_file_count(editor):
    editor.base = type(editor.base)({}, {}, {})
    editor.put("a", "by the agent")
    editor.file["nodes"]["a"]["gist"] = "by hand"
    assert editor.take().conflicts == ("a",)
    assert editor.node("a").gist == "by hand"


def test_an_edit_is_the_same_after_a_restart(editor):
    editor.file["nodes"]["c"] = {"gist": "new", "colour": "red"}
    editor.file["nodes"]["a"] |= {"gist": "by hand", "tier": "orphaned"}
    del editor.file["nodes"]["b"]
    editor.take()
    before = state_of(editor.peer.world)
    editor.peer.restart(from_log=True)
    assert state_of(editor.peer.world) == before


def test_news_and_sync_tell_of_an_edit(editor):
    reader = editor.peer.open()
    editor.file["nodes"]["a"]["gist"] = "by hand"
    editor.take()
    assert "by hand: by hand" in editor.peer.search("zzz", reader).text
    assert "node a: by hand" in editor.peer.sync(reader).text
