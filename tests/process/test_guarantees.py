"""What users trust, on the running service: acknowledged effects, one execution, real clients side by side."""

import json
import os
import re
import subprocess
import sys
import threading

from tests.serving import REPOSITORY, Service, scratch_service, session_of
from tests.shim_client import ShimClient
from tests.waiting import until


def put(service: Service, sid: str, gist: str, headers=None, node: str = "shared-node", **more) -> str:
    arguments = {"session_id": sid, "level": "user", "id": node, "gist": gist, **more}
    return service.call("kg_put_node", arguments, headers)["content"][0]["text"]


def test_a_call_that_comes_again_under_its_key_is_not_executed_again(service):
    sid = service.session()
    key = {"Kg-Request": "ab" * 16}
    assert "(new)" in put(service, sid, "first", key)
    again = put(service, sid, "first", key)
    assert "received before" in again
    assert sum(event["kind"] == "node_put" for event in service.journal()) == 1
    service.kill_owner()
    until(service.answers)
    assert "received before" in put(service, sid, "first", key)
    service.restart()
    assert "received before" in put(service, sid, "first", key)
    assert sum(event["kind"] == "node_put" for event in service.journal()) == 1


def test_a_reply_that_nobody_acknowledged_has_no_effect(service):
    """F38: the reader was killed between the answer and its print."""
    one, two = service.session(), service.session()
    put(service, one, "first")
    read = {"session_id": two, "id": "shared-node"}
    service.call("kg_read", read)  # this client does not acknowledge: handing the reply over counts
    put(service, one, "second")
    lost = service.call("kg_read", read, {"Kg-Ack": "1"})
    assert "second" in lost["content"][0]["text"]
    assert "NOT WRITTEN (stale-view)" in put(service, two, "third", {"Kg-Ack": "1"})


def test_an_acknowledged_refusal_counts_as_a_read_and_the_merged_retry_passes(service):
    one, two = service.session(), service.session()
    put(service, one, "first", notes=["a"])
    service.call("kg_read", {"session_id": two, "id": "shared-node"})
    put(service, one, "second", notes=["a", "b"])
    reply = service.http(
        "POST", "/rpc",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "kg_put_node", "arguments": {
            "session_id": two, "level": "user", "id": "shared-node", "gist": "third", "notes": ["a", "c"]}}},
        {"Kg-Ack": "1"},
    )  # fmt: skip
    assert "stale-view" in reply.body.decode()
    assert "Saved" in put(service, two, "third", {"Kg-Acked": reply.headers["kg-delivery"]}, notes=["a", "b", "c"])


def test_racing_writers_of_one_node_lose_no_note(service):
    """C7: each refused writer merges what it was shown."""
    acknowledged: list[str] = []

    def append(number: int) -> None:
        with ShimClient(service) as shim:
            sid = shim.session()
            for count in range(5):
                note = f"note {number}-{count}"
                while True:
                    text = shim.ask("kg_read", session_id=sid, id="log-node")["result"]["content"][0]["text"]
                    held = [line[4:] for line in text.split("\n") if line.startswith("  - ")]
                    answer = shim.ask(
                        "kg_put_node", session_id=sid, level="user", id="log-node", gist="log", notes=[*held, note]
                    )
                    if not answer["result"]["isError"]:
                        acknowledged.append(note)
                        break

    put(service, service.session(), "log", node="log-node", notes=["start"])
    threads = [threading.Thread(target=append, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    text = service.text("kg_read", session_id=service.session(), id="log-node")
    kept = {line[4:] for line in text.split("\n") if line.startswith("  - ")}
    assert len(acknowledged) == 40
    assert kept == {"start", *acknowledged}


def test_several_calls_at_once_over_one_shim_are_all_kept(service):
    """C1: one model turn sends many calls; the answers may come in any order."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-E", str(REPOSITORY / "shim" / "main.py")],
        env=service.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    sid = service.session()
    for number in range(100):
        arguments = {"session_id": sid, "level": "user", "id": f"n-{number}", "gist": "claim"}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call",
                   "params": {"name": "kg_put_node", "arguments": arguments}}  # fmt: skip
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.close()
    answers = [json.loads(line) for line in process.stdout]
    process.wait(10)
    process.stdout.close()
    assert sorted(answer["id"] for answer in answers) == list(range(100))
    assert not any(answer["result"]["isError"] for answer in answers)
    service.stop()
    nodes = json.loads((service.root / "user.json").read_text(encoding="utf-8"))["nodes"]
    assert {f"n-{number}" for number in range(100)} <= nodes.keys()


def test_a_long_read_comes_in_parts_and_survives_a_restart(service):
    sid = service.session()
    ids = [f"long-{number}" for number in range(70)]
    for node in ids:
        put(service, sid, "claim", node=node, notes=["word " * 250])
    first = service.text("kg_read", session_id=sid, ids=ids)
    assert "Part 1 of" in first
    service.restart()
    texts = [first]
    while "Next: kg_read" in texts[-1]:
        assert session_of(texts[-1]) == sid
        texts.append(service.text("kg_read", session_id=sid, more=True))
        assert len(texts) < 20
    assert texts[-1].endswith(f"Part {len(texts)} of {len(texts)}.")
    assert sum(len(re.findall(r"^▸ long-", text, re.MULTILINE)) for text in texts) == 70
    assert "Nothing more" in service.text("kg_read", session_id=sid, more=True)


def test_health_names_every_process_and_the_last_good_run_of_each_task(service):
    until(lambda: all(task["last_ok"] for task in service.health()["tasks"] if task["period_s"] <= 2), within_s=15)
    report = service.health()
    assert {row["role"] for row in report["processes"]} == {"supervisor", "owner"}
    assert all(row["rss_bytes"] > 0 for row in report["processes"])
    assert {task["name"] for task in report["tasks"]} == {"checkpoints", "watch", "compaction", "sessions", "journal"}
    assert report["journal"]["unsaved_events"] == 0


def test_every_file_folder_and_socket_is_this_users_alone_under_any_umask():
    old = os.umask(0)
    try:
        with scratch_service() as service:
            service.start()
            put(service, service.session(), "x")
            service.text("kg_put_node", session_id=service.session(), level="project", id="a-b", gist="x")
            until(lambda: service.health()["graphs"]["dirty"] == [])
            modes = {path: path.stat().st_mode & 0o777 for path in service.root.rglob("*")}
            assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
            assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
            assert os.stat(service.socket).st_mode & 0o777 == 0o600  # noqa: PTH116 - a socket
            assert service.token not in service.log()
    finally:
        os.umask(old)
