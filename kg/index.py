"""An inverted index of whole tokens over one graph."""

from collections import Counter
from collections.abc import Sequence

from kg.tokens import tokens


class TokenIndex:
    """Which nodes hold a token."""

    __slots__ = ("_of_node", "_with_token")

    def __init__(self) -> None:
        self._with_token: dict[str, set[str]] = {}
        self._of_node: dict[str, frozenset[str]] = {}

    def update(self, node_id: str, text: str | None) -> None:
        """Index the text of a node anew; None when the node is gone."""
        for token in self._of_node.pop(node_id, frozenset()):
            self._with_token[token].discard(node_id)
        if text is None:
            return
        held = frozenset(tokens(text))
        self._of_node[node_id] = held
        for token in held:
            self._with_token.setdefault(token, set()).add(node_id)

    def count(self, wanted: Sequence[str]) -> Counter[str]:
        """Node id -> how many of the tokens it holds."""
        return Counter(node_id for token in wanted for node_id in self._with_token.get(token, ()))
