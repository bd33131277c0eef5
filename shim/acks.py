"""Acknowledgements that the service has not confirmed yet. Pure.

Every request that goes out names them, until one of those requests has been answered: an acknowledgement is idempotent,
and a write that overtakes a lone acknowledgement on another connection must still find the read recorded. One that no
running request carries goes out alone after a short wait. Tries grow rarer while the service is away, and end when the
service would have forgotten the delivery.
"""

from kg.limits import ACK_ID_CHARS, ACK_IDS, ACK_KEEP_S, ACK_PAUSE_S, ACK_WAIT_S


class Acks:
    """Delivery ids in the order in which they were read."""

    __slots__ = ("_due", "_pause_s", "_waiting")

    def __init__(self) -> None:
        """Begin with none."""
        self._waiting: dict[str, list[float]] = {}  # id -> [requests that carry it now, when it was read]
        self._due = 0.0
        self._pause_s = ACK_WAIT_S

    def add(self, delivery: str, now: float) -> None:
        """Take one that has just been read; an id that would not fit a header is none of the service's."""
        if delivery in self._waiting or not delivery.replace("-", "").replace("_", "").isalnum():
            return
        if len(delivery) > ACK_ID_CHARS or not delivery.isascii():
            return
        if not self._loose():
            self._due = now + self._pause_s
        self._waiting[delivery] = [0, now]

    def board(self) -> list[str]:
        """Return the newest ids for a request that goes out now; end with `confirm` or `fail`."""
        ids = list(self._waiting)[-ACK_IDS:]
        for delivery in ids:
            self._waiting[delivery][0] += 1
        return ids

    def board_loose(self) -> list[str]:
        """Return the oldest ids that no request carries."""
        ids = self._loose()[:ACK_IDS]
        for delivery in ids:
            self._waiting[delivery][0] += 1
        return ids

    def confirm(self, ids: list[str]) -> None:
        """The service has taken these."""
        for delivery in ids:
            self._waiting.pop(delivery, None)
        self._pause_s = ACK_WAIT_S

    def fail(self, ids: list[str], now: float) -> None:
        """A request that carried these has no answer; try again later."""
        if not ids:
            return
        for delivery in ids:
            entry = self._waiting.get(delivery)
            if entry:
                entry[0] -= 1
                if now - entry[1] > ACK_KEEP_S:
                    del self._waiting[delivery]
        self._pause_s = min(self._pause_s * 2, ACK_PAUSE_S)
        self._due = now + self._pause_s

    def due(self) -> float | None:
        """Return when the loose ones should go out alone, None when there are none."""
        return self._due if self._loose() else None

    def __bool__(self) -> bool:
        """Tell whether anything is unconfirmed."""
        return bool(self._waiting)

    def _loose(self) -> list[str]:
        return [delivery for delivery, (carriers, _) in self._waiting.items() if not carriers]
