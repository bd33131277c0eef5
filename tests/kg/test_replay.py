"""Random command sequences through the real decide and apply, with lost replies, checkpoints and restarts."""

from dataclasses import dataclass, field
from itertools import count
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from kg.apply import TABLE
from kg.commands import DeleteEdge, DeleteNode, PutEdge, PutNode, Read, Search, Sync, Useful
from kg.events import Event
from kg.graph import graph_of
from kg.limits import CREDITS_PER_SESSION, VOTES_PER_SESSION
from kg.render import full_read
from kg.sessions import Session
from tests.kg.peer import APP, OTHER, Peer, loaded, state_of

IDS = ("a", "b", "c")
ENDS = (*IDS, *IDS, "src/a.py", "./src/a.py")
LEVELS = ("project", "project", "project", "user", "user", "maintain")
TIERS = ("active", "archived", "orphaned")
PARTS = (TABLE, "user", "maintain", "projects/app", "projects/other")
SIDS = 4
WEIGHTS = {
    "put": 30, "edge": 16, "rename": 8, "delete": 6, "delete_edge": 3, "useful": 8, "read": 12, "more": 2, "search": 4,
    "sync": 4, "progress": 1, "ack": 8, "tiers": 4, "reset": 2, "expire": 1, "hook": 4, "save": 5, "restart": 3,
}  # fmt: skip


def random_steps(rng, length):
    """Steps with the weights above, each with whether its reply arrives at once."""
    names = rng.choices(list(WEIGHTS), list(WEIGHTS.values()), k=length)
    return [(random_step(rng, name), rng.random() < 0.8) for name in names]


def random_step(rng, name):
    sid, node, level, maybe = (
        rng.randrange(SIDS),
        rng.choice(IDS),
        rng.choice(LEVELS),
        rng.choice((None, None, *LEVELS)),
    )
    lists = ("omit", "omit", "keep", "add", "new", "empty")
    ends = (rng.choice(ENDS), rng.choice(ENDS))
    arguments = {
        "put": (sid, node, level, rng.random() < 0.3, rng.choice(lists), rng.choice(lists)),
        "edge": (sid, *ends, rng.choice(("r", "r", "instance-of")), level, rng.choice(("omit", "empty", "new", "new"))),
        "rename": (sid, node, rng.choice(IDS), maybe),
        "delete": (sid, node, maybe),
        "delete_edge": (sid, *ends, maybe),
        "useful": (sid, rng.choices(IDS, k=rng.randint(1, 3)), rng.choice((None, None, 2))),
        "read": (sid, rng.choices(IDS, k=rng.randint(0, 2))),
        "progress": (sid, rng.choice(("port", "port", "port", "chore")), rng.random() < 0.5, level),
        "ack": (rng.randrange(4),),
        "tiers": ([(rng.choice(IDS), rng.choice(TIERS)) for _ in range(rng.randint(1, 2))],),
        "hook": (rng.choice(("startup", "resume", "compact", "fork")), rng.choice(("c1", "c2")), sid),
        "search": (sid, node),
        "save": (rng.choice(PARTS),),
        "restart": (),
    }
    return (name, *arguments.get(name, (sid,)))


# Hypothesis shrinks the seed and the length, and repeats what has failed.
RUNS = st.builds(lambda seed, length: random_steps(Random(seed), length), st.integers(0, 10**9), st.integers(0, 80))  # noqa: S311


@dataclass
class Run:
    """One sequence, and what each session was shown on the way."""

    peer: Peer = field(default_factory=Peer)
    sids: list[str] = field(default_factory=list)
    texts: count = field(default_factory=count)
    waiting: list = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)  # session -> every text that reached it or that it sent

    def __post_init__(self):
        self.sids = [self.peer.open(place) for place in (APP, APP, OTHER, None)]

    def step(self, what, arrives):
        name, *args = what
        before = self.peer.world.seq
        refused_from = state_of(self.peer.world)
        reply = getattr(self, f"_{name}")(*args)
        assert self.peer.world.seq >= before
        if reply is None:
            return
        if reply.code is not None:
            only_active(refused_from, state_of(self.peer.world), reply)
        else:
            nothing_unseen_went(reply.events, self.shown)
        for event in reply.events:
            if event.kind == "session_forked":
                self.note(event.body["session"], self.shown.get(event.body["parent"], ""))
        if arrives:
            self.arrived(reply)
        else:
            self.waiting.append(reply)

    def note(self, session_id, text):
        self.shown[session_id] = self.shown.get(session_id, "") + text

    def arrived(self, reply):
        if self.peer.ack(reply) and reply.session:
            self.note(reply.session, reply.text)

    def _list(self, choice, stored):
        fresh = f"text{next(self.texts)}/x"
        return {"omit": None, "empty": (), "keep": stored, "add": (*stored, fresh), "new": (fresh,)}[choice]

    def _put(self, who, node_id, at, same_gist, notes, touches):
        key = self.session_graph(who, at)
        old = self.peer.world.graphs[key].nodes.get(node_id) if key in self.peer.world.graphs else None
        gist = old.gist if old is not None and same_gist else f"gist{next(self.texts)}."
        stored = (old.notes, old.touches) if old is not None else ((), ())
        lists = [self._list(choice, have) for choice, have in zip((notes, touches), stored, strict=True)]
        self.note(self.sids[who], f"{gist} {lists}")
        return self.peer.put(self.sids[who], node_id, gist, *lists, level=at, arrives=False)

    def session_graph(self, who, at):
        session = self.peer.world.sessions.get(self.sids[who])
        return session.graph_key(at) if session else None

    def _edge(self, who, source, target, rel, at, notes):
        sent = self._list(notes, ())
        self.note(self.sids[who], str(sent))
        return self.peer.edge(self.sids[who], source, rel, target, sent, level=at, arrives=False)

    def _rename(self, who, old, new, at):
        return self.peer.rename(self.sids[who], old, new, level=at)

    def _delete(self, who, node_id, at):
        return self.peer.delete(self.sids[who], node_id, level=at, arrives=False)

    def _delete_edge(self, who, source, target, at):
        return self.peer.delete_edge(self.sids[who], source, "r", target, level=at)

    def _useful(self, who, ids, credit):
        return self.peer.useful(self.sids[who], *ids, credits=credit)

    def _read(self, who, ids):
        return self.peer.read(self.sids[who], *ids, arrives=False)

    def _more(self, who):
        return self.peer.read(self.sids[who], more=True, arrives=False)

    def _search(self, who, word):
        return self.peer.search(word, self.sids[who], arrives=False)

    def _sync(self, who):
        return self.peer.sync(self.sids[who], arrives=False)

    def _progress(self, who, task, sends, at):
        return self.peer.progress(self.sids[who], task, {"n": next(self.texts)} if sends else None, level=at)

    def _ack(self, which):
        if which < len(self.waiting):
            self.arrived(self.waiting.pop(which))

    def _tiers(self, moves):
        self.peer.emit(
            "tiers_moved", graph="projects/app", moves=[{"id": node_id, "to": tier} for node_id, tier in moves]
        )

    def _reset(self, who):
        if self.sids[who] in self.peer.world.sessions:
            self.peer.emit("context_reset", session=self.sids[who])

    def _expire(self, who):
        self.peer.emit("session_expired", sessions=[self.sids[who]])
        self.sids[who] = self.peer.open((APP, APP, OTHER, None)[who])

    def _hook(self, source, client, who):
        return self.peer.start(source, client, transcript_session=self.sids[who], arrives=False)

    def _save(self, part):
        if part == TABLE or part in self.peer.world.graphs:
            self.peer.save(part)

    def _restart(self):
        before = state_of(self.peer.world)
        self.peer.restart()
        assert state_of(self.peer.world) == before


def only_active(before, after, reply):
    """I31: a refused command leaves the world as it was, but for activity and the parts of its own reply."""
    assert after["graphs"] == before["graphs"]
    kinds = {event.kind for event in reply.events}
    assert kinds <= {"session_active", "delivery_queued", "delivery_dropped"}, kinds
    for table in (before["table"], after["table"]):
        table["meta"] = table["deliveries"] = None
        for session in table["sessions"].values():
            session["ops"] = session["active"] = None
    assert after["table"] == before["table"]


def nothing_unseen_went(events, shown):
    """I7: what an accepted write or delete removes stood in something that its writer was shown or wrote."""
    for event in events:
        known = shown.get(event.by.removeprefix("maint:"), "")
        gone = ()
        if event.kind == "node_put" and event.body["was"]:
            was, now = event.body["was"], event.body["set"]
            gone = [text for name in ("notes", "touches") for text in was.get(name, ()) if text not in now[name]]
        elif event.kind == "node_deleted":
            was = event.body["was"]
            gone = [was["gist"], *was["notes"], *was["touches"]]
        elif event.kind == "edge_put" and event.body["was"]:
            gone = [
                text for text in event.body["was"].get("notes", ()) if text not in event.body["edge"].get("notes", ())
            ]
        for text in gone:
            assert text in known, (event, text)


def sound(peer):
    """What must hold of any world."""
    world = peer.world
    for key, graph in world.graphs.items():
        fresh = graph_of(key, graph.nodes.values(), graph.edges.values(), upper=graph.upper)
        assert (fresh.size, fresh.counts, fresh.charges) == (graph.size, graph.counts, graph.charges)
        assert {end: set(held) for end, held in fresh.ends.items()} == {
            end: set(held) for end, held in graph.ends.items()
        }
        body = [line for line in full_read([graph], Session("x", "", "", 0)).lines if line.startswith("  ")]
        listed = [line for line in body if not line.startswith("  (")]
        headers = sum(
            len(line) + 1 for line in full_read([graph], Session("x", "", "", 0)).lines if line.startswith("A")
        )
        assert sum(len(line) + 1 for line in listed) + headers == graph.size
        assert all(node.content_seq <= graph.seq and node.gist for node in graph.nodes.values())
    for session in world.sessions.values():
        working = sum(session.votes.values()) - session.credits
        assert working <= VOTES_PER_SESSION
        assert session.credits <= CREDITS_PER_SESSION
        for view in session.views.values():
            assert (view.seen_seq or 0) <= world.seq


@settings(max_examples=60, deadline=None)
@given(RUNS)
def test_any_run_is_sound_and_comes_back_from_its_log_and_from_any_mix_of_checkpoints(steps):
    run = Run()
    for what, arrives in steps:
        run.step(what, arrives)
        sound(run.peer)
    before = state_of(run.peer.world)
    run.peer.restart()
    assert state_of(run.peer.world) == before
    run.peer.restart(from_log=True)
    assert state_of(run.peer.world) == before


@settings(max_examples=25, deadline=None)
@given(RUNS, st.data())
def test_a_log_that_ends_after_any_event_loads_and_goes_on(steps, data):
    run = Run()
    for what, arrives in steps:
        run.step(what, arrives)
    log = run.peer.log
    cut = data.draw(st.integers(0, len(log)))
    whole = loaded(Peer().world, {}, log[:cut])
    assert whole.seq == cut
    parts = data.draw(st.lists(st.sampled_from(PARTS), max_size=3))
    at = data.draw(st.integers(0, cut))
    older = Peer()
    older.log = log[:at]
    older.restart()
    older.save(*(part for part in parts if part == TABLE or part in older.world.graphs))
    older.log = log[:cut]
    older.restart()
    assert state_of(older.world) == state_of(whole)
    sound(older)
    fresh = older.open()
    assert older.put(fresh, "e").code is None


@settings(max_examples=25, deadline=None)
@given(RUNS)
def test_the_same_commands_make_the_same_log(steps):
    runs = [Run(), Run()]
    for run in runs:
        for what, arrives in steps:
            run.step(what, arrives)
    assert runs[0].peer.log == runs[1].peer.log


@settings(max_examples=25, deadline=None)
@given(RUNS, RUNS)
def test_a_call_repeated_is_harmless(steps, calls):
    """I32: the second of two equal calls changes no content, votes least of all."""
    run = Run()
    for what, arrives in steps:
        run.step(what, arrives)
    for what, _ in calls[:20]:
        name, *args = what
        if name in {"ack", "restart", "save", "expire", "reset", "tiers", "hook", "progress"}:
            continue
        first = getattr(run, f"_{name}")(*args)
        if first.code is not None or name == "rename":
            continue
        before = contents(run.peer)
        stamps = {key: node.useful for key, node in nodes(run.peer)}
        again = run.peer.call(command_of(run, first, name, args))
        assert again.code in {None, "not-found", "not-allowed"}
        assert contents(run.peer) == before
        assert {key: node.useful for key, node in nodes(run.peer)} == stamps


def command_of(run, first, name, args):
    """The command of a step as it was sent, with the texts that it stored."""
    sid = run.sids[args[0]]
    body = first.events[0].body if first.events else {}
    level = first_level(first) if body.get("graph") else args[-1]
    if name == "put":
        stored = run.peer.world.graphs[run.session_graph(args[0], args[2])].nodes[args[1]]
        return PutNode(sid, args[2], args[1], stored.gist, stored.notes, stored.touches)
    if name == "edge":
        return PutEdge(sid, args[4], *args[1:4], tuple(body["edge"].get("notes", ())) if "edge" in body else None)
    simple = {
        "delete": lambda: DeleteNode(sid, args[1], level),
        "delete_edge": lambda: DeleteEdge(sid, args[1], args[2], "r", level),
        "useful": lambda: Useful(sid, tuple(args[1]), args[2]),
        "search": lambda: Search(args[1], sid),
        "sync": lambda: Sync(sid),
        "more": lambda: Read(sid, more=True),
        "read": lambda: Read(sid, ids=tuple(args[1])),
    }
    return simple[name]()


def first_level(reply):
    key = reply.events[0].body["graph"]
    return "project" if key.startswith("projects/") else key


def nodes(peer):
    return [((key, node.id), node) for key, graph in peer.world.graphs.items() for node in graph.nodes.values()]


def contents(peer):
    return {
        key: (
            {node.id: (node.gist, node.notes, node.touches, node.content_seq) for node in graph.nodes.values()},
            dict(graph.edges),
        )
        for key, graph in peer.world.graphs.items()
    }


def test_an_event_that_names_what_is_gone_changes_nothing_and_raises_nothing():
    """Apply is total: an event may find its node, edge or session missing when a part was lost."""
    peer = Peer()
    session = peer.open()
    peer.put(session, "a", notes=["n"])
    peer.edge(session, "a", "r", "b", ["x"])
    peer.rename(session, "a", "c")
    peer.useful(session, "c")
    peer.read(session, "c")
    peer.edge(session, "case", "instance-of", "c")
    peer.delete(session, "c")
    peer.sync(session)
    for keep in range(len(peer.log)):
        world = Peer().world
        loaded(world, {}, peer.log[keep:])
        assert world.seq == len(peer.log)


def test_two_kinds_of_numbers_never_repeat():
    peer = Peer()
    session = peer.open()
    for number in range(5):
        peer.put(session, f"n{number}")
    peer.restart(from_log=True)
    peer.put(session, "m")
    seqs = [int(line.split(b'"seq":')[1].split(b",")[0]) for line in peer.log]
    assert seqs == list(range(1, len(seqs) + 1))
    assert isinstance(peer.emit("checkpoint_written", graph="user", holds=1, sha256="x"), Event)
