"""GET /metrics: what was asked and how long it took, in Prometheus' text form."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import falcon
import falcon.asgi
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest


@dataclass(slots=True)
class Outcome:
    """How a call ended: ok, or the code of its refusal."""

    code: str = "internal"


class Metrics:
    """Counts of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "kg_requests_total",
            "Requests by route, tool and outcome",
            ("route", "tool", "code"),
            registry=self._registry,
        )
        self._seconds = Histogram("kg_request_seconds", "Time to an answer", ("route",), registry=self._registry)

    @contextmanager
    def timed(self, route: str, tool: str) -> Iterator[Outcome]:
        """Count and time one call; its outcome is what the block sets."""
        began = time.perf_counter()
        outcome = Outcome()
        try:
            yield outcome
        finally:
            self._seconds.labels(route).observe(time.perf_counter() - began)
            self._requests.labels(route, tool, outcome.code).inc()

    async def on_get(self, _request: falcon.asgi.Request, response: falcon.asgi.Response) -> None:
        """The figures."""
        response.content_type = CONTENT_TYPE_LATEST
        response.data = generate_latest(self._registry)
