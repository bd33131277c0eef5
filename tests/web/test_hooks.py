"""POST /hooks/<harness>/<event> (spec/hooks.md sections 1 to 3, cases C36 and C44)."""

import pytest

from kg.commands import Answer, Caller, Place, PromptSubmitted, SessionStarted
from tests.fakes.memory import RecordingMemory
from tests.web.conftest import Door

START = {"session_id": "c-1", "cwd": "/home/ada/app", "source": "startup", "hook_event_name": "SessionStart"}
PROMPT = {"session_id": "c-1", "cwd": "/home/ada/app", "prompt": "fix it", "hook_event_name": "UserPromptSubmit"}
CLIENTS = ["claude", "codex"]


def counted(door, event, code):
    figures = door.local("/metrics", method="GET").text
    return f'kg_requests_total{{code="{code}",route="hook",tool="{event}"}} 1.0' in figures


@pytest.mark.parametrize("client", CLIENTS)
def test_a_start_becomes_a_command_of_that_conversation(door, memory, client):
    door.local(f"/hooks/{client}/SessionStart", START, Kg_Ack="1", Kg_Deadline_Ms="3850", Kg_Project_Root="/srv")
    assert memory.located == [("/home/ada/app", "/srv")]
    caller = Caller(channel="hook", harness=client, client_id="c-1", acknowledges=True, deadline_s=3.85)
    assert memory.commands == [(SessionStarted("startup", Place("/home/ada/app")), caller)]


def test_a_prompt_becomes_a_command(door, memory):
    door.local("/hooks/claude/UserPromptSubmit", PROMPT)
    assert memory.commands[0][0] == PromptSubmitted("fix it", Place("/home/ada/app"))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("event", "answer", "printed"),
    [
        ("SessionStart", Answer("text", notice="n"), {
            "systemMessage": "n",
            "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "text"}}),
        ("SessionStart", Answer("", notice="n"), {"systemMessage": "n"}),
        ("SessionStart", Answer("text"), {
            "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "text"}}),
        ("UserPromptSubmit", Answer("text", notice="n"), {
            "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "text"}}),
    ],
)  # fmt: skip
def test_the_answer_has_exactly_the_fields_that_the_client_takes(client, event, answer, printed):
    assert Door(RecordingMemory(answer)).local(f"/hooks/{client}/{event}", {}).json == printed


@pytest.mark.parametrize("answer", [Answer(""), Answer("", notice="only at the start")])
def test_nothing_to_say_is_an_empty_body(answer):
    reply = Door(RecordingMemory(answer)).local("/hooks/claude/UserPromptSubmit", PROMPT)
    assert (reply.status_code, reply.content) == (200, b"")


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"prompt":"x', b"\xff\xfe", b"[]", b"null", b'"text"', b"7", b"[" * 2000, b"\x00"]
)
def test_a_body_that_is_no_payload_is_answered_with_silence_and_counted(door, memory, body):
    reply = door.local("/hooks/claude/UserPromptSubmit", body)
    assert (reply.status_code, reply.content) == (200, b"")
    assert memory.commands == []
    assert counted(door, "UserPromptSubmit", "malformed")


@pytest.mark.parametrize("odd", [None, 5, 1.5, True, [], ["x"], {}, {"a": []}])
@pytest.mark.parametrize("field", ["session_id", "cwd", "source", "prompt", "hook_event_name", "brand_new"])
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_a_field_of_another_type_counts_as_missing(door, memory, event, field, odd):
    payload = {**START, **PROMPT, "hook_event_name": event, field: odd}
    reply = door.local(f"/hooks/claude/{event}", payload)
    assert reply.status_code == 200
    command, caller = memory.commands[0]
    assert type(command) is {"SessionStart": SessionStarted, "UserPromptSubmit": PromptSubmitted}[event]
    assert caller.client_id == (None if field == "session_id" else "c-1")
    assert (command.place is None) == (field == "cwd")


def test_a_payload_without_any_field_is_one(door, memory):
    door.local("/hooks/codex/SessionStart", {})
    assert memory.commands[0][0] == SessionStarted("unknown", None)


@pytest.mark.parametrize("client_id", ["", "x" * 257, "a\nb", "a\x00b", "\ud800"])
def test_a_conversation_that_cannot_be_named_is_none(door, memory, client_id):
    door.local("/hooks/claude/SessionStart", {"session_id": client_id})
    assert memory.commands[0][1].client_id in {None, "\ufffd"}


def test_the_name_in_the_body_wins_over_the_url(door, memory):
    door.local("/hooks/claude/SessionStart", PROMPT)
    assert isinstance(memory.commands[0][0], PromptSubmitted)


@pytest.mark.parametrize("named", ["PostToolUse", "BrandNew", "sessionstart", "x" * 10_000])
def test_a_name_in_the_body_that_kg_does_not_answer_is_silence(door, memory, named):
    reply = door.local("/hooks/claude/SessionStart", {"hook_event_name": named})
    assert (reply.status_code, reply.content, memory.commands) == (200, b"", [])
    assert counted(door, "SessionStart", "silent")


@pytest.mark.parametrize(
    "path",
    ["claude/PostToolUse", "claude/PreToolUse", "claude/SubagentStart", "claude/SessionEnd", "codex/PostToolUse"],
)
def test_an_event_of_the_client_that_kg_does_not_use_is_no_mistake(door, memory, path):
    reply = door.local(f"/hooks/{path}", {"tool_name": "Read"})
    assert (reply.status_code, reply.content, memory.commands) == (200, b"", [])


@pytest.mark.parametrize(
    "path",
    [
        "claude/Nope", "claude/sessionstart", "nobody/SessionStart", "codex/PreToolUse",
        "desktop/SessionStart", "antigravity/SessionStart", "other/SessionStart",
    ],
)  # fmt: skip
def test_an_unknown_client_or_event_is_not_found(door, memory, path):
    reply = door.local(f"/hooks/{path}", START)
    assert (reply.status_code, list(reply.json), memory.commands) == (404, ["error"], [])


def test_a_hook_that_acknowledges_gets_the_deliverys_id():
    memory = RecordingMemory(Answer("text", delivery="d-1"))
    reply = Door(memory).local("/hooks/claude/SessionStart", START, Kg_Ack="1")
    assert (reply.headers["kg-delivery"], memory.acknowledged) == ("d-1", [])


def test_for_one_that_does_not_handing_over_is_enough():
    memory = RecordingMemory(Answer("text", delivery="d-1"))
    reply = Door(memory).local("/hooks/claude/SessionStart", START)
    assert ("kg-delivery" in reply.headers, memory.acknowledged) == (False, ["d-1"])


def test_a_prompt_that_was_cut_within_an_emoji_is_understood(door, memory):
    door.local("/hooks/claude/UserPromptSubmit", b'{"prompt":"cut \\ud83d"}')
    assert memory.commands[0][0] == PromptSubmitted("cut \ufffd", None)


def test_a_fault_inside_prints_nothing_in_the_client(caplog):
    """The hook prints what comes with status 200 only."""
    reply = Door(RecordingMemory(RuntimeError("secret detail"))).local("/hooks/claude/SessionStart", START)
    assert (reply.status_code, list(reply.json)) == (500, ["error"])
    assert "secret detail" not in reply.text
    assert "secret detail" in caplog.text
