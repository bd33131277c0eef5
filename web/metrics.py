"""GET /metrics: what was asked and how long it took, in Prometheus' text form."""

import time
from functools import cache
from types import TracebackType
from typing import Self

import falcon
import falcon.asgi
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest


class Metrics:
    """Counts of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        requests = Counter(
            "kg_requests_total",
            "Requests by route, tool and outcome",
            ("route", "tool", "code"),
            registry=self._registry,
        )
        seconds = Histogram("kg_request_seconds", "Time to an answer", ("route",), registry=self._registry)
        self.count = cache(requests.labels)  # looking a label up anew costs as much as counting
        self.clock = cache(seconds.labels)

    def timed(self, route: str, tool: str) -> "Call":
        """Count and time one call; its outcome is what the block sets."""
        return Call(self, route, tool)

    async def on_get(self, _request: falcon.asgi.Request, response: falcon.asgi.Response) -> None:
        """The figures."""
        response.content_type = CONTENT_TYPE_LATEST
        response.data = generate_latest(self._registry)


class Call:
    """A call under way; `code` says how it ended: ok, or the code of its refusal."""

    __slots__ = ("_began", "_metrics", "_route", "_tool", "code")

    def __init__(self, metrics: Metrics, route: str, tool: str) -> None:
        self._metrics = metrics
        self._route = route
        self._tool = tool
        self._began = 0.0
        self.code = "internal"

    def __enter__(self) -> Self:
        """Begin."""
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._metrics.clock(self._route).observe(time.perf_counter() - self._began)
        self._metrics.count(self._route, self._tool, self.code).inc()
