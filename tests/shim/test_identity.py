"""What the shim tells the service about its caller."""

import pytest

from shim.identity import Identity, harness_of, safe_value
from shim.message import Message
from tests.fakes.shim_process import ShimProcess


@pytest.mark.parametrize(
    ("name", "harness"),
    [
        ("claude-code", "claude"),
        ("Claude Code", "claude"),
        ("codex-mcp-client", "codex"),
        ("antigravity-cli", "antigravity"),
        ("claude-ai", "desktop"),
        ("Claude Desktop", "desktop"),
        ("cursor", "other"),
        ("my-codex", "other"),
    ],
)
def test_a_client_name_names_its_harness(name, harness):
    assert harness_of(name) == harness


def headers(environ, *messages):
    identity = Identity(environ)
    return [dict(identity.headers_for(message)) for message in messages][-1]


def call(**meta):
    return Message("1", "tools/call", {"_meta": meta})


def initialize(name):
    return Message("0", "initialize", {"clientInfo": {"name": name}})


def test_a_codex_subagent_is_known_by_its_thread():
    sent = headers({}, initialize("codex"), call(sessionId="s", threadId="t"))
    assert sent == {"Kg-Harness": "codex", "Kg-Client-Session": "t"}
    assert headers({}, call(sessionId="s"))["Kg-Client-Session"] == "s"


def test_antigravity_is_known_by_its_conversation():
    sent = headers({}, initialize("antigravity"), call(**{"antigravity.google/conversation_id": "c"}))
    assert sent == {"Kg-Harness": "antigravity", "Kg-Client-Session": "c"}


def test_claude_sends_its_tool_use_and_the_session_of_its_environment():
    environ = {b"CLAUDE_CODE_SESSION_ID": b"env"}
    sent = headers(environ, initialize("claude-code"), call(**{"claudecode/toolUseId": "toolu_1"}))
    assert sent == {"Kg-Harness": "claude", "Kg-Client-Session": "env", "Kg-Tool-Use": "toolu_1"}
    assert "Kg-Client-Session" not in headers(environ, initialize("codex"), call()), "another client inside Claude Code"


def test_a_client_without_handshake_is_known_by_each_request():
    meta = {"io.modelcontextprotocol/clientInfo": {"name": "codex", "version": "1"}}
    assert headers({}, call(**meta)) == {"Kg-Harness": "codex"}


@pytest.mark.parametrize("meta", [{"sessionId": 7}, {"sessionId": ["a"]}, {"sessionId": ""}, {"threadId": None}])
def test_an_identity_of_the_wrong_kind_is_left_out(meta):
    assert headers({}, call(**meta)) == {}


def test_a_value_cannot_break_out_of_its_header():
    assert safe_value("a\r\nKg-Acked: x") == "a%0D%0AKg-Acked:%20x"
    assert safe_value("ü%\ud800") == "%C3%BC%25?"
    assert headers({}, call(sessionId="x" * 256)) == {"Kg-Client-Session": "x" * 256}
    assert headers({}, call(sessionId="x" * 257)) == {}


def test_a_path_of_any_bytes_is_sent_as_it_is():
    assert headers({b"KG_PROJECT_ROOT": b"/a b/\xff"}, call()) == {"Kg-Project-Root": "/a%20b/%FF"}


def test_the_headers_reach_the_service(server):
    variables = {"CLAUDE_CODE_SESSION_ID": "s-1", "KG_PROJECT_ROOT": "/p/ü"}
    with ShimProcess(server.root, **variables) as shim:
        shim.send("initialize", 0, {"clientInfo": {"name": "claude-code"}})
        shim.answer()
        shim.send("tools/call", 1, {"_meta": {"claudecode/toolUseId": "evil\r\nX: y"}})
        shim.answer()
    sent = server.requests[1].headers
    assert sent["kg-harness"] == "claude"
    assert sent["kg-client-session"] == "s-1"
    assert sent["kg-tool-use"] == "evil%0D%0AX:%20y"
    assert sent["kg-project-root"] == "/p/%C3%BC"
    assert "x" not in sent
