"""MCP on the wire, both eras (spec/tools.md section 1, spec/stack.md section 4, cases C40, C45-C50)."""

import asyncio
import base64
import json

import pytest

from kg import commands, rpc
from kg.commands import Answer
from tests.clients.fixture_server import FIXTURES
from tests.fakes.memory import RecordingMemory
from tests.web.asgi import Exchange
from tests.web.conftest import Door
from web.doctrine import INSTRUCTIONS
from web.tools import TOOLS

META = {rpc.META_VERSION: "2026-07-28", rpc.META_CLIENT_CAPABILITIES: {}}
PUT = {"session_id": "1a2b3c4d", "level": "user", "id": "a-b", "gist": "claim"}


def modern(method, params=None, **headers):
    """A modern message and the headers that go with it."""
    params = {"_meta": META, **(params or {})}
    names = {"Mcp_Name": params["name"]} if "name" in params else {}
    return (
        {"jsonrpc": "2.0", "id": 7, "method": method, "params": params},
        {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method, **names, **headers},
    )


def ask(door, method, params=None, **headers):
    body, given = modern(method, params, **headers)
    return door.tcp("POST", "/mcp", body, **given)


# --- legacy --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", rpc.LEGACY_VERSIONS)
def test_initialize_echoes_a_version_that_it_knows(door, version):
    result = door.rpc("initialize", {"protocolVersion": version}).json["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"] == {"name": "kg", "title": "kg memory", "version": "1.2.3"}
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert result["instructions"] == INSTRUCTIONS


@pytest.mark.parametrize("version", ["1999-01-01", "2099-01-01", None, 5, ""])
def test_initialize_with_any_other_version_answers_the_newest_of_the_era(door, version):
    assert door.rpc("initialize", {"protocolVersion": version}).json["result"]["protocolVersion"] == "2025-11-25"


def test_no_session_id_is_issued(door):
    assert "mcp-session-id" not in door.rpc("initialize", {}).headers


def test_ping_answers_an_empty_object(door):
    assert door.rpc("ping").json == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("method", ["server/discover", "resources/list", "nope", ""])
def test_an_unknown_legacy_method_is_answered_at_once_with_status_200(door, method):
    reply = door.rpc(method)
    assert (reply.status_code, reply.json["error"]["code"]) == (200, rpc.METHOD_NOT_FOUND)


def test_the_ten_tools_are_listed_in_their_order(door):
    listed = door.rpc("tools/list").json["result"]["tools"]
    assert [tool["name"] for tool in listed] == [
        "kg_read", "kg_search", "kg_put_node", "kg_put_edge", "kg_rename_node", "kg_delete_node", "kg_delete_edge",
        "kg_useful", "kg_sync", "kg_progress",
    ]  # fmt: skip


@pytest.mark.parametrize("message", [{"jsonrpc": "2.0", "method": "notifications/initialized"},
                                     {"jsonrpc": "2.0", "method": "whatever"},
                                     {"jsonrpc": "2.0", "id": 1, "result": {}},
                                     {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}])  # fmt: skip
def test_what_wants_no_answer_gets_none(door, message):
    reply = door.local("/rpc", message)
    assert (reply.status_code, reply.content) == (202, b"")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", rpc.PARSE_ERROR), (b"\xff\xfe", rpc.PARSE_ERROR), (b"", rpc.PARSE_ERROR),
        (b"[]", rpc.INVALID_REQUEST), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', rpc.INVALID_REQUEST),
        (b'"text"', rpc.INVALID_REQUEST), (b"null", rpc.INVALID_REQUEST),
        (b'{"id":1,"method":"ping"}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', rpc.INVALID_REQUEST),
    ],
)  # fmt: skip
def test_what_is_no_request_is_a_protocol_error_with_status_400(door, memory, body, code):
    reply = door.local("/rpc", body)
    assert (reply.status_code, reply.json["error"]["code"]) == (400, code)
    assert memory.commands == []


def test_a_put_with_a_null_id_stores_nothing(door, memory):
    reply = door.rpc("tools/call", {"name": "kg_put_node", "arguments": PUT}, request_id=None)
    assert reply.json["error"]["code"] == rpc.INVALID_REQUEST
    assert reply.json["id"] is None
    assert memory.commands == []


@pytest.mark.parametrize("request_id", [0, -1, 2**40, "text", "", 1.5])
def test_every_kind_of_id_comes_back_as_it_was(door, request_id):
    assert door.rpc("ping", request_id=request_id).json["id"] == request_id


def test_params_of_another_shape_are_invalid(door):
    reply = door.local("/rpc", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]})
    assert reply.json["error"]["code"] == rpc.INVALID_PARAMS


# --- modern --------------------------------------------------------------------------------------------------------


def test_discover_introduces_the_server_without_a_handshake(door):
    result = ask(door, "server/discover").json["result"]
    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["resultType"] == "complete"
    assert result["_meta"][rpc.META_SERVER_INFO]["name"] == "kg"
    assert (result["cacheScope"], result["ttlMs"] > 0) == ("private", True)


@pytest.mark.parametrize("method", ["initialize", "ping", "resources/list"])
def test_a_modern_request_for_a_method_that_is_not_there_is_404(door, method):
    reply = ask(door, method)
    assert (reply.status_code, reply.json["error"]["code"]) == (404, rpc.METHOD_NOT_FOUND)


def test_a_modern_call_works_without_a_handshake(door, memory):
    result = ask(door, "tools/call", {"name": "kg_put_node", "arguments": PUT}).json["result"]
    assert (result["resultType"], result["content"]) == ("complete", [{"type": "text", "text": "done"}])
    assert isinstance(memory.commands[0][0], commands.PutNode)


@pytest.mark.parametrize("meta", [{}, {rpc.META_VERSION: "2026-07-28"}, {**META, rpc.META_CLIENT_CAPABILITIES: []}])
def test_missing_or_bad_meta_is_invalid(door, meta):
    body, headers = modern("tools/list")
    body["params"]["_meta"] = meta
    reply = door.tcp("POST", "/mcp", body, **headers)
    assert (reply.status_code, reply.json["error"]["code"]) == (400, rpc.INVALID_PARAMS)


@pytest.mark.parametrize("headers", [
    {"MCP_Protocol_Version": None}, {"MCP_Protocol_Version": "2025-11-25"}, {"Mcp_Method": None},
    {"Mcp_Method": "tools/list"}, {"Mcp_Name": None}, {"Mcp_Name": "kg_read"}, {"Mcp_Name": "=?base64?!!?="},
])  # fmt: skip
def test_headers_must_equal_the_body(door, memory, headers):
    reply = ask(door, "tools/call", {"name": "kg_put_node", "arguments": PUT}, **headers)
    assert (reply.status_code, reply.json["error"]["code"]) == (400, rpc.HEADER_MISMATCH)
    assert memory.commands == []


def test_header_values_are_trimmed_and_decoded(door):
    encoded = "=?base64?" + base64.b64encode(b"kg_put_node").decode() + "?="
    for name in (" kg_put_node\t", encoded):
        assert ask(door, "tools/call", {"name": "kg_put_node", "arguments": PUT}, Mcp_Name=name).status_code == 200


@pytest.mark.parametrize("version", ["foobar", "2099-01-01"])
def test_a_version_that_is_not_served_is_named_with_those_that_are(door, version):
    reply = door.tcp("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, MCP_Protocol_Version=version)
    assert (reply.status_code, reply.json["error"]["code"]) == (400, rpc.UNSUPPORTED_VERSION)
    assert reply.json["error"]["data"] == {"supported": ["2026-07-28"], "requested": version}


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_a_header_that_stands_twice_is_a_mismatch_even_if_both_agree(door, memory, name):
    body, given = modern("tools/call", {"name": "kg_put_node", "arguments": PUT})
    exchange = Exchange("POST", "/mcp", json.dumps(body).encode(), tcp=True, **given)
    exchange.headers.append((name.lower().encode(), dict(exchange.headers)[name.lower().encode()]))
    asyncio.run(exchange.run(door.app))
    assert (exchange.status, json.loads(exchange.body)["error"]["code"]) == (400, rpc.HEADER_MISMATCH)
    assert memory.commands == []


def test_a_capability_that_the_client_did_not_declare_is_named(memory):
    door = Door(memory, extra_tools=FIXTURES)
    reply = ask(door, "tools/call", {"name": "test_missing_capability"})
    assert (reply.status_code, reply.json["error"]["code"]) == (400, rpc.MISSING_CAPABILITY)
    assert reply.json["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


def test_further_tools_of_a_test_build_stand_behind_the_ten(memory):
    names = [tool["name"] for tool in Door(memory, extra_tools=FIXTURES).rpc("tools/list").json["result"]["tools"]]
    assert names == [tool.name for tool in (*TOOLS, *FIXTURES)]


@pytest.mark.parametrize("message", [{"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": META}},
                                     {"jsonrpc": "2.0", "id": 1, "result": {}}])  # fmt: skip
def test_what_wants_no_answer_gets_none_in_the_modern_era(door, message):
    reply = door.tcp("POST", "/mcp", message, MCP_Protocol_Version="2026-07-28")
    assert (reply.status_code, reply.content) == (202, b"")


def test_both_eras_are_served_in_turn(door):
    for _ in range(2):
        assert "resultType" not in door.tcp("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).text
        listed = ask(door, "tools/list").json["result"]
        assert (listed["resultType"], listed["cacheScope"], listed["ttlMs"] > 0) == ("complete", "private", True)


@pytest.mark.parametrize("version", [*rpc.LEGACY_VERSIONS, " 2025-11-25\t"])
def test_a_legacy_version_in_the_header_is_served(door, version):
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert door.tcp("POST", "/mcp", message, MCP_Protocol_Version=version).json["result"] == {}


def test_session_ids_and_stream_positions_of_other_servers_are_ignored(door):
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert door.tcp("POST", "/mcp", message, Mcp_Session_Id="x", Last_Event_ID="7").json["result"] == {}


def test_the_shims_door_asks_for_no_headers(door):
    message, _ = modern("tools/list")
    assert door.local("/rpc", message).json["result"]["resultType"] == "complete"


# --- tools ---------------------------------------------------------------------------------------------------------


def test_an_unknown_tool_is_a_protocol_error(door):
    for name in ("nope", None, 5):
        assert door.rpc("tools/call", {"name": name, "arguments": {}}).json["error"]["code"] == rpc.INVALID_PARAMS


def test_a_violated_schema_is_a_result_that_names_each_field(door, memory):
    result = door.call("kg_put_node", {"level": "nowhere", "id": 5, "more": 1})
    assert result["isError"]
    assert result["_meta"] == {"kg/code": "bad-arguments"}
    text = result["content"][0]["text"]
    assert all(field in text for field in ("session_id", "level", "id", "gist", "more"))
    assert memory.commands == []


@pytest.mark.parametrize("arguments", [
    {"ids": []}, {"ids": ["x"] * 201}, {"ids": "x"}, {"more": "yes"}, {"cwd": 5}, {"level": "both"}, [], "x", None,
])  # fmt: skip
def test_bad_arguments_of_kg_read_are_refused(door, arguments):
    assert door.call("kg_read", arguments)["_meta"]["kg/code"] == "bad-arguments"


@pytest.mark.parametrize("credit", [0, 4, "1", True, 1.0])
def test_credits_outside_one_to_three_are_refused(door, credit):
    result = door.call("kg_useful", {"session_id": "1a2b3c4d", "ids": ["a"], "credits": credit})
    assert result["_meta"]["kg/code"] == "bad-arguments"


def test_a_state_that_is_no_object_is_refused(door):
    result = door.call("kg_progress", {"session_id": "1a2b3c4d", "task_id": "a", "state": [1]})
    assert result["_meta"]["kg/code"] == "bad-arguments"


def test_half_of_an_emoji_in_a_call_is_stored_and_not_refused(door, memory):
    body = json.dumps({"jsonrpc": "2.0", "id": "\udfff", "method": "tools/call",
                       "params": {"name": "kg_put_node", "arguments": {**PUT, "gist": "bad \ud800 end"}}})  # fmt: skip
    assert door.local("/rpc", body.encode()).json["result"]["isError"] is False
    assert memory.commands[0][0].gist == "bad \ufffd end"


def test_a_refusal_is_a_result_with_its_code(door, memory):
    memory.answer = Answer("NOT WRITTEN (stale-view): ...", is_error=True, code="stale-view")
    result = door.call("kg_put_node", PUT)
    assert (result["isError"], result["_meta"]) == (True, {"kg/code": "stale-view"})


def test_a_fault_inside_is_logged_and_told_without_a_trace(caplog):
    door = Door(RecordingMemory(RuntimeError("secret detail")))
    reply = door.rpc("tools/call", {"name": "kg_put_node", "arguments": PUT}, request_id=9)
    assert (reply.json["id"], reply.json["error"]["code"]) == (9, rpc.INTERNAL_ERROR)
    assert "secret detail" not in reply.text
    assert "secret detail" in caplog.text


def test_a_cwd_becomes_a_place_before_the_command_is_made(door, memory):
    door.call("kg_read", {"cwd": "/home/ada/app"}, Kg_Project_Root="/srv/x%20y")
    assert memory.located == [("/home/ada/app", "/srv/x y")]
    assert memory.commands[0][0] == commands.Read(place=commands.Place("/home/ada/app"))


# --- deliveries and identity ---------------------------------------------------------------------------------------


def test_a_caller_that_acknowledges_gets_the_deliverys_id(door, memory):
    memory.answer = Answer("text", delivery="d-1")
    reply = door.rpc("tools/call", {"name": "kg_sync", "arguments": {"session_id": "1a2b3c4d"}}, Kg_Ack="1")
    assert reply.headers["kg-delivery"] == "d-1"
    assert memory.acknowledged == []


def test_without_it_the_effects_hold_once_the_reply_was_handed_over(door, memory):
    memory.answer = Answer("text", delivery="d-1")
    reply = door.rpc("tools/call", {"name": "kg_sync", "arguments": {"session_id": "1a2b3c4d"}})
    assert "kg-delivery" not in reply.headers
    assert memory.acknowledged == ["d-1"]


def test_reported_arrivals_are_applied_before_the_request(door, memory):
    door.rpc("ping", Kg_Acked="d-1, d-2,")
    assert memory.acknowledged == ["d-1", "d-2"]


def test_the_shims_headers_say_who_calls(door, memory):
    door.call("kg_put_node", PUT, Kg_Harness="codex", Kg_Client_Session="thread-1", Kg_Tool_Use="t1",
              Kg_Request="ab" * 16, Kg_Deadline_Ms="900", Kg_Ack="1")  # fmt: skip
    assert memory.commands[0][1] == commands.Caller(
        channel="shim", harness="codex", client_id="thread-1", tool_use="t1", acknowledges=True,
        request_key="ab" * 16, deadline_s=0.9,
    )  # fmt: skip


def test_identity_is_not_believed_over_tcp(door, memory):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "kg_put_node", "arguments": PUT}}
    door.tcp("POST", "/mcp", body, Kg_Harness="codex", Kg_Client_Session="thread-1")
    assert (memory.commands[0][1].harness, memory.commands[0][1].client_id) == ("other", None)


@pytest.mark.parametrize("value", ["x" * 257, "a%0Ab", "", "%00"])
def test_an_unusable_identity_counts_as_none(door, memory, value):
    door.call("kg_put_node", PUT, Kg_Client_Session=value)
    assert memory.commands[0][1].client_id is None


def test_how_long_a_client_waits_is_believed_over_tcp_too(door, memory):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "kg_put_node", "arguments": PUT}}
    door.tcp("POST", "/mcp", body, Kg_Deadline_Ms="900", Kg_Tool_Use="t1")
    assert memory.commands[0][1] == commands.Caller(deadline_s=0.9)


@pytest.mark.parametrize("value", ["-5", "abc", "1e3", "9" * 300, "²"])
def test_an_unusable_deadline_counts_as_none(door, memory, value):
    door.call("kg_put_node", PUT, Kg_Deadline_Ms=value)
    assert memory.commands[0][1].deadline_s is None


def test_every_reply_names_the_version(door):
    assert door.rpc("ping").headers["kg-version"] == "1.2.3"


# --- what a client shows -------------------------------------------------------------------------------------------


def test_descriptions_and_instructions_stay_within_what_clients_show():
    assert all(len(tool.description) <= 4_000 for tool in TOOLS)
    assert len(json.dumps([tool.published() for tool in TOOLS])) < 14_000
    assert len(INSTRUCTIONS) <= 4_000
    assert INSTRUCTIONS[:240].count("kg_read(cwd=") == 1
    assert INSTRUCTIONS[:240].rstrip().rfind(".") > 150


def test_every_tool_is_annotated_so_that_headless_clients_run_it():
    for tool in TOOLS:
        shown = tool.published()
        assert shown["annotations"]["openWorldHint"] is False
        assert shown["annotations"]["readOnlyHint"] is (tool.name in {"kg_read", "kg_search", "kg_sync"})
        assert shown["annotations"]["destructiveHint"] is tool.name.startswith("kg_delete")
        assert shown["_meta"] == {"anthropic/alwaysLoad": True}
        assert shown["inputSchema"]["additionalProperties"] is False
        assert "outputSchema" not in shown
        assert "r.content[0].text" in tool.description[:200]
