"""GET /health, GET /metrics, POST /deliveries/ack."""

import pytest

from kg.commands import Answer
from kg.limits import ACKS_MOST
from tests.fakes.memory import RecordingMemory
from tests.web.conftest import Door


def test_each_acknowledgement_is_answered(door, memory):
    assert door.local("/deliveries/ack", {"ids": ["d-1", "d-2"]}).json == {"acknowledged": {"d-1": True, "d-2": True}}
    assert memory.acknowledged == ["d-1", "d-2"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", {}, {"ids": None}, {"ids": "d-1"}, {"ids": {"d-1": 1}}, {"ids": ["d-1", 5]},
     {"ids": ["d"] * (ACKS_MOST + 1)}],
)  # fmt: skip
def test_acknowledgements_that_cannot_be_read_are_refused_whole(door, memory, body):
    reply = door.local("/deliveries/ack", body)
    assert (reply.status_code, list(reply.json), memory.acknowledged) == (400, ["error"], [])


def test_calls_are_counted_by_tool_and_outcome(memory, door):
    door.call("kg_sync", {"session_id": "1a2b3c4d"})
    door.call("kg_sync", {})
    memory.answer = Answer("NOT FOUND: x", is_error=True, code="not-found")
    door.call("kg_read", {"id": "x"})
    memory.answer = RuntimeError("inside")
    door.rpc("tools/call", {"name": "kg_read", "arguments": {}})
    figures = door.tcp("GET", "/metrics").text
    for tool, code in (
        ("kg_sync", "ok"),
        ("kg_sync", "bad-arguments"),
        ("kg_read", "not-found"),
        ("kg_read", "internal"),
    ):
        assert f'kg_requests_total{{code="{code}",route="mcp",tool="{tool}"}} 1.0' in figures
    assert 'kg_request_seconds_count{route="mcp"} 4.0' in figures


def test_two_applications_count_apart(door):
    door.call("kg_sync", {"session_id": "1a2b3c4d"})
    assert "kg_sync" not in Door(RecordingMemory()).tcp("GET", "/metrics").text


def test_the_token_is_in_no_reply(door):
    replies = [door.tcp("GET", path) for path in ("/health", "/metrics", "/nowhere", "/mcp")]
    assert not any("t" * 64 in reply.text or "t" * 64 in str(reply.headers) for reply in replies)
