"""Deliveries: what a reply implies holds only when its reader has it (spec/sessions.md section 5).

A reply is a list of lines. Each effect is tied to the line whose arrival makes it true: a gist to its own line, a full
read of a node to the last line of its block, what the whole reply means to the last line of all. Cut into parts, each
effect goes with the part that holds its line. A part that waits for its acknowledgement is a `Delivery`; the
acknowledgement turns its effects into one `delivery_acked` event.

Effects are JSON lists, since they travel in events:
    ["seen", graph, id, seq, via]         the gist was shown
    ["read", graph, id, seq, via, stamp]  the node was shown in full; stamp: it counts as a read of the node
    ["edge", graph, from, rel, to, seq]   an edge was shown with its notes
    ["promote", graph, id]                an archived or orphaned node comes back
    ["preloaded", graph, id]              the preload held its gist
    ["full_read", seq]  ["synced", seq]  ["told", seq]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kg.limits import DELIVERIES_PER_SESSION
from kg.text import longest_prefix

Effect = Sequence[object]
PartNumber = tuple[int, int]  # seq of the event that queued a long reply, and which part of it, from 0


@dataclass(slots=True)
class Text:
    """A reply under construction: lines, and the effects tied to them."""

    lines: list[str] = field(default_factory=list)
    effects: list[tuple[int, Effect]] = field(default_factory=list)
    closing: list[Effect] = field(default_factory=list)

    def add(self, line: str, *effects: Effect) -> None:
        """One more line; the effects hold when it has arrived."""
        self.lines.append(line)
        at = len(self.lines) - 1
        self.effects.extend((at, effect) for effect in effects)

    def extend(self, other: "Text") -> None:
        """Append another text."""
        shift = len(self.lines)
        self.lines.extend(other.lines)
        self.effects.extend((at + shift, effect) for at, effect in other.effects)
        self.closing.extend(other.closing)

    def close(self, *effects: Effect) -> None:
        """Effects of the whole reply: they go with its last line."""
        self.closing.extend(effects)

    def __str__(self) -> str:
        """The whole reply."""
        return "\n".join(self.lines)

    def all_effects(self) -> tuple[Effect, ...]:
        """Every effect, in the order of the lines."""
        return (*(effect for _, effect in self.effects), *self.closing)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a reply that fits one message of its client."""

    text: str
    effects: tuple[Effect, ...] = ()


def parts_of(
    text: Text, *, limit: int, measure: Callable[[str], int], footer: Callable[[int, int], str], reserve: int
) -> list[Part]:
    """Cut a reply at line ends into parts of at most `limit` of the client's unit.

    Args:
        text: the reply.
        limit: size of a part, in the unit that `measure` counts.
        measure: length of a text in the client's unit.
        footer: last line of part k of n, both from 1.
        reserve: units kept free for the footer and its line break.
    """
    whole = str(text)
    if measure(whole) <= limit:
        return [Part(whole, text.all_effects())]
    pieces = list(_pieces(text.lines, limit=limit - reserve, measure=measure))
    parts = []
    waiting = list(text.effects)
    for number, (body, last_line) in enumerate(pieces, start=1):
        here = tuple(effect for at, effect in waiting if at <= last_line)
        waiting = [(at, effect) for at, effect in waiting if at > last_line]
        final = number == len(pieces)
        rest = (*(effect for _, effect in waiting), *text.closing) if final else ()
        parts.append(Part(f"{body}\n{footer(number, len(pieces))}", (*here, *rest)))
    return parts


def _pieces(lines: Sequence[str], *, limit: int, measure: Callable[[str], int]) -> Iterator[tuple[str, int]]:
    """Bodies of the parts, each with the index of the last line that it holds to its end (-1: none)."""
    body: list[str] = []
    size = 0
    whole = -1
    line_break = measure("\n")
    for index, line in enumerate(lines):
        rest, mark, cost = line, "", measure(line) + line_break
        while size + cost > limit:
            if body:
                yield "\n".join(body), whole
                body, size = [], 0
                continue
            head = longest_prefix(rest, limit - line_break - measure(mark), measure)
            yield mark + head, whole
            cost += measure(CONTINUED) - measure(mark) - measure(head)
            rest, mark = rest[len(head) :], CONTINUED
        body.append(mark + rest)
        size += cost
        whole = index
    if body:
        yield "\n".join(body), whole


CONTINUED = "… "  # begins the rest of a line that did not fit, so that it cannot look like structure


def _names(effect: Effect, graph: str, node_id: str) -> bool:
    return effect[0] in NODE_EFFECTS and effect[1] == graph and effect[2] == node_id


def renamed(effect: Effect, graph: str, *, old: str, new: str) -> Effect:
    """The effect after a rename of a node."""
    return (*effect[:2], new, *effect[3:]) if _names(effect, graph, old) else effect


NODE_EFFECTS = frozenset({"seen", "read", "promote", "preloaded"})


@dataclass(frozen=True, slots=True)
class Parts:
    """A long reply whose parts were not all acknowledged; survives a restart.

    `queued` is the seq of the event that queued it: an acknowledgement that comes late must not count for the reply
    that took this one's place. `first` is the number of texts[0] in the whole reply, counted from 0.
    """

    session: str
    context: int
    rendered_seq: int
    texts: tuple[str, ...]
    effects: tuple[tuple[Effect, ...], ...]
    queued: int
    first: int = 0

    @property
    def next(self) -> PartNumber:
        """The first part that was not acknowledged."""
        return (self.queued, self.first)

    def after(self, part: PartNumber) -> "Parts | None":
        """What is left once this part has arrived; None when that was the last."""
        queued, number = part
        gone = number + 1 - self.first
        if queued != self.queued or gone <= 0:
            return self
        if gone >= len(self.texts):
            return None
        return replace(self, texts=self.texts[gone:], effects=self.effects[gone:], first=number + 1)

    def renamed(self, graph: str, *, old: str, new: str) -> "Parts":
        """The same parts after a rename of a node."""
        effects = tuple(tuple(renamed(effect, graph, old=old, new=new) for effect in part) for part in self.effects)
        return replace(self, effects=effects)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One part on its way.

    `context` is the session's context number when it was rendered; `part` which part of which long reply it is.
    """

    id: str
    session: str
    context: int
    rendered_seq: int
    effects: tuple[Effect, ...]
    part: PartNumber | None = None


class Outbox:
    """Deliveries that wait for their acknowledgement; memory only.

    A crash between reply and acknowledgement costs a view, never a write. A session's oldest go first when there are
    too many: a lost view makes the write guard stricter, never looser.
    """

    __slots__ = ("_count", "_nonce", "_of_session", "_sessions")

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        self._count = 0
        self._sessions: dict[str, str] = {}  # delivery id -> session id
        self._of_session: dict[str, dict[str, Delivery]] = {}

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._sessions)

    def post(
        self,
        session: str,
        *,
        context: int,
        rendered_seq: int,
        effects: tuple[Effect, ...],
        part: PartNumber | None = None,
    ) -> Delivery:
        """Register a part that is about to leave."""
        self._count += 1
        delivery = Delivery(f"{self._nonce}-{self._count}", session, context, rendered_seq, effects, part)
        own = self._of_session.setdefault(session, {})
        own[delivery.id] = delivery
        self._sessions[delivery.id] = session
        if len(own) > DELIVERIES_PER_SESSION:
            self.take(next(iter(own)))
        return delivery

    def take(self, delivery_id: str) -> Delivery | None:
        """Hand out a delivery once; None when it is unknown, done or forgotten."""
        session = self._sessions.pop(delivery_id, None)
        if session is None:
            return None
        own = self._of_session[session]
        delivery = own.pop(delivery_id)
        if not own:
            del self._of_session[session]
        return delivery

    def drop_session(self, session: str) -> None:
        """Forget everything under way to a session, without effect."""
        for delivery_id in self._of_session.pop(session, {}):
            del self._sessions[delivery_id]

    def rename(self, graph: str, *, old: str, new: str) -> None:
        """Let deliveries under way mean the node under its new id."""
        for own in self._of_session.values():
            for delivery in own.values():
                if any(_names(effect, graph, old) for effect in delivery.effects):
                    effects = tuple(renamed(effect, graph, old=old, new=new) for effect in delivery.effects)
                    own[delivery.id] = replace(delivery, effects=effects)

    def told_seq(self, session: str) -> int:
        """The furthest news that is under way to a session (F37: not to be told twice)."""
        held = self._of_session.get(session)
        if not held:
            return 0
        told = (effect[1] for delivery in held.values() for effect in delivery.effects if effect[0] == "told")
        return max((seq for seq in told if isinstance(seq, int)), default=0)
