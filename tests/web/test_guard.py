"""Who may ask (spec/operations.md section 4, cases C53 and C54)."""

import pytest

from kg.limits import BODY_BYTES

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize("host", ["localhost:7421", "127.0.0.1:7421", "[::1]:7421", "LOCALHOST:7421"])
def test_the_loopbacks_names_with_our_port_are_served(door, host):
    assert door.tcp("POST", "/mcp", PING, Host=host).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1.nip.io:7421", "localhost", "localhost:80", "localhost.:7421", "evil.example:7421", "0.0.0.0:7421"],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/mcp"), ("GET", "/health"), ("POST", "/hooks/claude/SessionStart")]
)
def test_another_host_name_is_misdirected_on_every_route(door, memory, host, method, path):
    assert door.tcp(method, path, PING if method == "POST" else None, Host=host).status_code == 421
    assert memory.commands == []


@pytest.mark.parametrize(
    "origin", ["null", "http://evil.example", "http://localhost.evil.example", "https://localhost:7421"]
)
def test_a_foreign_origin_is_forbidden(door, origin):
    assert door.tcp("POST", "/mcp", PING, Origin=origin).status_code == 403


def test_our_own_origin_is_served(door):
    assert door.tcp("POST", "/mcp", PING, Origin="http://127.0.0.1:7421").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site"])
def test_a_request_of_another_site_is_forbidden(door, site):
    assert door.tcp("POST", "/mcp", PING, Sec_Fetch_Site=site).status_code == 403


@pytest.mark.parametrize("token", [None, "Bearer wrong", "Bearer ", "Basic abc", f"bearer {'t' * 64}", "Bearer ü"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/mcp"), ("GET", "/metrics"), ("POST", "/deliveries/ack")])
def test_without_the_token_nothing_is_answered(door, memory, token, method, path):
    reply = door.tcp(method, path, PING if method == "POST" else None, Authorization=token)
    assert reply.status_code == 401
    assert memory.acknowledged == []


def test_health_without_the_token_tells_the_status_and_nothing_else(door):
    assert door.tcp("GET", "/health", Authorization=None).json == {"status": "ok"}
    assert door.tcp("GET", "/health").json["root"] == "/secret"


def test_the_unix_socket_needs_no_token_and_no_host(door):
    assert door.local("/rpc", PING, Authorization=None, Host="anything").status_code == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_that_is_not_declared_as_json_is_refused(door, kind):
    assert door.tcp("POST", "/mcp", PING, Content_Type=kind).status_code == 415


def test_json_with_a_charset_is_json(door):
    assert door.tcp("POST", "/mcp", PING, Content_Type="application/json; charset=utf-8").status_code == 200


def test_a_body_over_the_limit_is_refused_with_one_json_sentence(door, memory):
    reply = door.tcp("POST", "/mcp", b"[" + b" " * BODY_BYTES + b"]")
    assert reply.status_code == 413
    assert list(reply.json) == ["error"]
    assert memory.commands == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_mcp_answers_post_only_and_says_so(door, method):
    reply = door.tcp(method, "/mcp", {} if method == "PUT" else None)
    assert reply.status_code == 405
    assert reply.headers["allow"] == "POST"


def test_the_shims_door_is_not_on_tcp(door, memory):
    assert door.tcp("POST", "/rpc", PING).status_code == 404


def test_get_changes_nothing(door, memory):
    for path in ("/mcp", "/rpc", "/health", "/metrics", "/hooks/claude/SessionStart", "/deliveries/ack", "/nowhere"):
        door.tcp("GET", path)
    assert (memory.commands, memory.acknowledged, memory.located) == ([], [], [])
