from collections.abc import Iterator

import pytest

from tests.serving import Service, scratch_service


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A running service of its own; its log is shown with a failed test."""
    with scratch_service() as scratch:
        yield scratch.start()
        request.node.add_report_section("call", "server.log", scratch.log()[-4000:])
