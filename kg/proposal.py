"""What a plan proposes: tier moves, each with the version of the node that it rests on. And its bytes.

A proposal comes from another process and is believed in nothing: `decode_proposal` checks its form, `kg.admission` each
move against the state of its moment.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal

from kg.codec import from_json, packed_json
from kg.graph import TIERS, Tier

Goal = Literal["active", "archived", "orphaned", "pruned"]
Why = Literal["archive", "swap", "refill", "orphan", "prune"]

# why -> the ways that such a move can go; a node that a run archives and then orphans makes one net move
WAYS: Mapping[str, frozenset[tuple[str, str]]] = {
    "archive": frozenset({("active", "archived")}),
    "swap": frozenset({("active", "archived"), ("archived", "active")}),
    "refill": frozenset({("archived", "active")}),
    "orphan": frozenset({("archived", "orphaned"), ("active", "orphaned")}),
    "prune": frozenset({("orphaned", "pruned")}),
}


class ProposalInvalid(Exception):  # noqa: N818 - named for what the proposal is
    """The bytes are no proposal, or one that contradicts itself."""


@dataclass(frozen=True, slots=True)
class Rests:
    """The version of a node that a move rests on; `votes` and `read` are looked at before it is deleted."""

    created_seq: int
    content_seq: int
    tier: Tier
    votes: int = 0
    read: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """One net move of a run. `partner` is the other half of a swap."""

    id: str
    to: Goal
    why: Why
    rests_on: Rests
    partner: str | None = None

    @property
    def source(self) -> Tier:
        """The tier that it leaves."""
        return self.rests_on.tier


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan for one graph.

    Attributes:
        graph: its key.
        base_seq: the seq of the graph that was planned.
        now: the time of the run.
        moves: in the order in which the run reached them.
        scores: of every node that was scored, when the run had ended.
        size: characters of the level after all moves.
        stalled: the level stays over its budget because only fresh and locked nodes are active.
        rounds: that the run took.
        judged: swaps that the run tried.
    """

    graph: str
    base_seq: int
    now: str
    moves: tuple[Move, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    size: int = 0
    stalled: bool = False
    rounds: int = 0
    judged: int = 0


def encode_proposal(proposal: Proposal) -> bytes:
    """The bytes of a proposal: one JSON object."""
    document = {name: getattr(proposal, name) for name in _HEAD}
    return packed_json({**document, "moves": [_move_document(move) for move in proposal.moves]})


def decode_proposal(data: bytes) -> Proposal:
    """Read a proposal. Pure and without access to a graph, so a large one may be read in a thread.

    Raises:
        ProposalInvalid: no JSON, a field is missing or wrong, a node is moved twice, a swap has one half.
    """
    try:
        document = from_json(data)
    except ValueError as error:
        raise ProposalInvalid(f"it is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise ProposalInvalid("it is no object")
    head = {name: _field(document, name, fits) for name, fits in _HEAD.items()}
    moves = tuple(_move_from(each) for each in _field(document, "moves", _is_list))
    _check_moves(moves)
    return Proposal(moves=moves, **head)


def _check_moves(moves: Sequence[Move]) -> None:
    by_id = {move.id: move for move in moves}
    if len(by_id) != len(moves):
        raise ProposalInvalid("it moves a node twice")
    for move in moves:
        if (move.source, move.to) not in WAYS[move.why]:
            raise ProposalInvalid(f"{move.id} cannot go from {move.source} to {move.to} as {move.why}")
        other = by_id.get(move.partner or "")
        if (move.why == "swap") != (move.partner is not None):
            raise ProposalInvalid(f"{move.id} is half a swap")
        if move.why == "swap" and (other is None or other.partner != move.id or other.to == move.to):
            raise ProposalInvalid(f"{move.id} is half a swap")


def _move_document(move: Move) -> dict[str, Any]:
    rests = move.rests_on
    document: dict[str, Any] = {"id": move.id, "from": move.source, "to": move.to, "why": move.why}
    if move.partner is not None:
        document["partner"] = move.partner
    document["rests_on"] = {name: getattr(rests, name) for name in _RESTS}
    return document


def _move_from(document: object) -> Move:
    if not isinstance(document, dict):
        raise ProposalInvalid("a move is no object")
    node_id, goal, why = (_field(document, name, _is_text) for name in ("id", "to", "why"))
    rests_on = _field(document, "rests_on", _is_object)
    rests = Rests(**{name: _field(rests_on, name, fits) for name, fits in _RESTS.items()})
    partner = document.get("partner")
    if why not in WAYS or rests.tier not in TIERS or rests.tier != document.get("from"):
        raise ProposalInvalid(f"the move of {node_id} is of no known kind")
    if partner is not None and not isinstance(partner, str):
        raise ProposalInvalid(f"the partner of {node_id} is no id")
    return Move(node_id, goal, why, rests, partner)


def _field(document: Mapping[str, Any], name: str, fits: Callable[[object], bool]) -> Any:  # noqa: ANN401 - JSON
    value = document.get(name)
    if not fits(value):
        raise ProposalInvalid(f"its field {name} is missing or of the wrong kind")
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_scores(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(score, float) and isfinite(score) for score in value.values())


_HEAD: Mapping[str, Callable[[object], bool]] = {
    "graph": _is_text,
    "base_seq": _is_count,
    "now": _is_text,
    "scores": _is_scores,
    "size": _is_count,
    "stalled": _is_flag,
    "rounds": _is_count,
    "judged": _is_count,
}
_RESTS: Mapping[str, Callable[[object], bool]] = {
    "created_seq": _is_count,
    "content_seq": _is_count,
    "tier": _is_text,
    "votes": _is_count,
    "read": _is_text_or_none,
}
