"""Files as persons and crashes leave them (spec/storage.md sections 5, 6 and 8; cases C11-C18)."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import Service, scratch_service
from tests.waiting import until


def graph(service: Service, name: str = "user.json") -> dict:
    return json.loads((service.root / name).read_text(encoding="utf-8"))


def put(service: Service, sid: str, node: str, gist: str = "claim", **more) -> str:
    return service.text("kg_put_node", session_id=sid, level="user", id=node, gist=gist, **more)


def saved(service: Service, node: str) -> bool:
    path = service.root / "user.json"
    return path.exists() and node in graph(service)["nodes"]


# --- checkpoints ---------------------------------------------------------------------------------------------------


def test_a_change_is_in_the_readable_file_after_some_quiet_seconds(service):
    put(service, service.session(), "quiet-node")
    until(lambda: saved(service, "quiet-node"))
    text = (service.root / "user.json").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert text.index('"meta"') < text.index('"nodes"') < text.index('"edges"')
    assert {path.stat().st_mode & 0o777 for path in service.root.rglob("*") if path.is_file()} == {0o600}


def test_an_idle_graph_is_not_written_again(service):
    put(service, service.session(), "first-node")
    until(lambda: saved(service, "first-node"))
    until(lambda: service.health()["graphs"]["dirty"] == [])
    before = (service.root / "user.json").stat().st_ino
    service.text("kg_put_node", session_id=service.session(), level="project", id="elsewhere", gist="x")
    until(lambda: list(service.root.glob("projects/*/graph.json")) != [])
    assert (service.root / "user.json").stat().st_ino == before


# --- a person edits ------------------------------------------------------------------------------------------------


def test_an_edit_while_the_service_runs_becomes_an_event_and_makes_old_views_stale(service):
    sid, other = service.session(), service.session()
    put(service, sid, "shared-node", notes=["one"])
    assert "shared-node" in service.text("kg_read", session_id=other, id="shared-node")
    until(lambda: saved(service, "shared-node"))
    document = graph(service)
    document["nodes"]["shared-node"]["gist"] = "changed by hand"
    document["nodes"]["by-hand"] = {"gist": "a new one"}
    (service.root / "user.json").write_text(json.dumps(document), encoding="utf-8")
    until(lambda: "a new one" in service.text("kg_read", session_id=sid, id="by-hand"))
    assert "changed by hand" in service.text("kg_read", session_id=sid, id="shared-node")
    assert "NOT WRITTEN (stale-view)" in put(service, other, "shared-node", gist="from an old view")
    until(lambda: [event["by"] for event in service.journal() if event["kind"] == "batch"] == ["file"])


def test_what_a_person_keeps_in_meta_survives_the_next_checkpoint(service):
    sid = service.session()
    put(service, sid, "first-node")
    until(lambda: saved(service, "first-node"))
    document = graph(service)
    document["meta"]["remark"] = "mine"
    (service.root / "user.json").write_text(json.dumps(document), encoding="utf-8")
    put(service, sid, "second-node")
    until(lambda: saved(service, "second-node"))
    assert graph(service)["meta"]["remark"] == "mine"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (b"", "empty"), (b"null", "object"), (b'{"nodes": []}', "nodes"),
        (b'{"nodes": {"a": {"gist": null}}}', "a.gist"),
        (b'{"nodes": {}, "edges": [{"from": "a", "to": "b"}]}', "rel"),
        (b'{"nodes": {"a": {"gist": "\xe9"}}}', "UTF-8"),
        (b'{"nodes": {"a": {"gist": "x"}, "a": {"gist": "y"}}, "edges": []}', "twice"),
        (b'<<<<<<< HEAD\n{"nodes": {}}\n=======\n>>>>>>> x\n', "merge"),
        (b'{"meta": {"format": 99}, "nodes": {}, "edges": []}', "newer kg"),
        (b'{"nodes": {"a": {"gist": "x", "tier": "gone"}}, "edges": []}', "a.tier"),
        (b'{"nodes": {"a": {"gist": "x", "content_seq": -1}}, "edges": []}', "a.content_seq"),
        (b'{"nodes": {"a b": {"gist": "x"}}, "edges": []}', "a b"),
    ],
)  # fmt: skip
def test_a_file_that_breaks_a_rule_is_left_alone_named_and_memory_goes_on(service, damage, words):
    sid = service.session()
    put(service, sid, "kept-node")
    until(lambda: saved(service, "kept-node"))
    (service.root / "user.json").write_bytes(damage)
    until(lambda: any(words in problem for problem in service.health()["problems"]))
    assert service.health()["status"] == "degraded"
    assert "Saved" in put(service, sid, "later-node")
    assert (service.root / "user.json").read_bytes() == damage
    service.restart()
    sid = service.session()
    assert "kept-node" in service.text("kg_read", session_id=sid, id="kept-node")
    assert "later-node" in service.text("kg_read", session_id=sid, id="later-node")
    assert [path.read_bytes() for path in service.root.glob("user.bad-*")] == [damage]


@pytest.mark.parametrize("running", [True, False])
def test_a_byte_order_mark_and_foreign_line_ends_are_no_change(service, running):
    sid = service.session()
    put(service, sid, "plain-node")
    until(lambda: saved(service, "plain-node"))
    until(lambda: service.health()["graphs"]["dirty"] == [])
    before = service.journal()[-1]["seq"] if running else None
    if not running:
        service.stop()
    path = service.root / "user.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    if not running:
        service.start()
    sid = service.session()
    assert "plain-node" in service.text("kg_read", session_id=sid, id="plain-node")
    put(service, sid, "next-node")
    until(lambda: not path.read_bytes().startswith(b"\xef\xbb\xbf"))
    assert [event for event in service.journal() if event["kind"] == "batch" and event["seq"] > (before or 0)] == []


def test_an_edit_while_the_service_is_down_is_taken_over_and_later_events_survive(service):
    sid = service.session()
    put(service, sid, "edited-node", notes=["kept"])
    put(service, sid, "removed-node")
    service.restart()
    put(service, service.session(), "third-node")
    service.stop()
    document = graph(service)
    document["nodes"]["edited-node"]["gist"] = "edited while down"
    del document["nodes"]["removed-node"]
    (service.root / "user.json").write_text(json.dumps(document), encoding="utf-8")
    service.start()
    sid = service.session()
    text = service.text("kg_read", session_id=sid, ids=["edited-node", "removed-node", "third-node"])
    assert "edited while down" in text
    assert "kept" in text
    assert "NOT FOUND: removed-node" in text
    assert "third-node" in text


def forget_the_beginning(service: Service) -> None:
    """Drop the log's oldest segment, as kg does after some weeks; there must be a later one."""
    service.start()
    service.stop()
    first, *_ = sorted(service.root.glob("journal/*.jsonl"))
    first.unlink()


# --- recovery ------------------------------------------------------------------------------------------------------


def test_a_graph_whose_file_is_gone_comes_back_from_its_previous_copy_and_the_journal(service):
    sid = service.session()
    put(service, sid, "old-node")
    until(lambda: saved(service, "old-node"))
    put(service, sid, "new-node")
    until(lambda: saved(service, "new-node"))
    service.stop()
    assert (service.root / "user.prev").exists()
    (service.root / "user.json").unlink()
    service.start()
    sid = service.session()
    text = service.text("kg_read", session_id=sid, ids=["old-node", "new-node"])
    assert "NOT FOUND" not in text
    assert any("recovered" in sentence for sentence in service.health()["recovered"])


def test_a_damaged_graph_without_a_previous_copy_comes_back_from_a_journal_that_has_everything(service):
    put(service, service.session(), "some-node")
    service.stop()
    (service.root / "user.json").write_bytes(b"{")
    service.start()
    assert "some-node" in service.text("kg_read", session_id=service.session(), id="some-node")
    assert [path.read_bytes() for path in service.root.glob("user.bad-*")] == [b"{"]


def test_a_user_graph_that_cannot_be_read_stops_the_start_with_exit_code_4(service):
    put(service, service.session(), "some-node")
    service.stop()
    forget_the_beginning(service)
    (service.root / "user.json").write_bytes(b"{")
    (service.root / "user.prev").unlink(missing_ok=True)
    process = service.spawn()
    assert process.wait(15) == 4
    cause = json.loads((service.root / "run" / "start-error.json").read_text(encoding="utf-8"))["cause"]
    assert "user.json" in cause
    assert "line 1" in cause
    assert (service.root / "user.json").read_bytes() == b"{"


def test_a_project_that_cannot_be_read_is_unreadable_alone(service):
    sid = service.session()
    service.text("kg_put_node", session_id=sid, level="project", id="project-node", gist="x")
    put(service, sid, "user-node")
    service.stop()
    forget_the_beginning(service)
    path = next(service.root.glob("projects/*/graph.json"))
    path.write_bytes(b'{"nodes": ')
    path.with_suffix(".prev").unlink(missing_ok=True)
    service.start()
    assert "unreadable-graph" in service.text("kg_put_node", session_id=sid, level="project", id="x-y", gist="x")
    assert "user-node" in service.text("kg_read", session_id=sid, id="user-node", level="user")
    assert [row["slug"] for row in service.health()["graphs"]["unreadable"]] == ["projects/app"]
    assert path.read_bytes() == b'{"nodes": '


def test_a_lost_session_file_costs_sessions_and_no_node(service):
    sid = service.session()
    service.text("kg_put_node", session_id=sid, level="project", id="project-node", gist="x")
    service.stop()
    (service.root / "sessions.json").unlink()
    (service.root / "sessions.prev").unlink(missing_ok=True)
    for segment in service.root.glob("journal/*.jsonl"):
        segment.unlink()
    service.start()
    assert "unknown-session" in service.text("kg_put_node", session_id=sid, level="user", id="a-b", gist="x")
    sid = service.session()
    assert "project-node" in service.text("kg_read", session_id=sid, id="project-node")
    assert [path.name for path in (service.root / "projects").iterdir()] == ["app"]


def test_an_event_of_a_newer_kg_stops_the_start_and_names_file_and_line(service):
    put(service, service.session(), "some-node")
    service.stop()
    segment = max(service.root.glob("journal/*.jsonl"))
    seq = service.journal()[-1]["seq"] + 1
    line = json.dumps({"seq": seq, "ts": "2026-01-01T00:00:00.000Z", "kind": "node_dreamt", "by": "x"})
    segment.write_bytes(segment.read_bytes() + line.encode() + b"\n")
    assert service.spawn().wait(15) == 4
    cause = json.loads((service.root / "run" / "start-error.json").read_text(encoding="utf-8"))["cause"]
    assert segment.name in cause
    assert "newer kg" in cause


def test_a_torn_last_line_of_the_journal_is_cut_off(service):
    put(service, service.session(), "some-node")
    service.stop()
    segment = max(service.root.glob("journal/*.jsonl"))
    segment.write_bytes(segment.read_bytes() + b'{"seq": 99, "ts"')
    service.start()
    assert "some-node" in service.text("kg_read", session_id=service.session(), id="some-node")


def test_files_that_kg_does_not_know_are_ignored(service):
    service.stop()
    (service.root / "notes.txt").write_text("mine", encoding="utf-8")
    (service.root / "projects" / "README").write_text("mine", encoding="utf-8")
    service.start()
    assert service.health()["status"] == "ok"


# --- odd places ----------------------------------------------------------------------------------------------------


def test_a_symlinked_graph_file_stays_a_link_and_its_target_gets_the_node(service):
    sid = service.session()
    put(service, sid, "linked-node")
    until(lambda: saved(service, "linked-node"))
    elsewhere = service.base / "dotfiles"
    elsewhere.mkdir()
    service.stop()
    shutil.move(service.root / "user.json", elsewhere / "user.json")
    (service.root / "user.json").symlink_to(elsewhere / "user.json")
    service.start()
    put(service, service.session(), "after-link")
    until(lambda: "after-link" in (elsewhere / "user.json").read_text(encoding="utf-8"))
    assert (service.root / "user.json").is_symlink()


def test_a_storage_path_with_blanks_and_letters_outside_ascii_works():
    with scratch_service() as service:
        service.root = service.home / "my mem" / "ü"
        service.env["KG_STORAGE"] = "~/my mem/ü"
        service.start()
        assert "Saved" in put(service, service.session(), "some-node")
        assert service.root.stat().st_mode & 0o777 == 0o700


def test_a_relative_storage_path_is_refused_with_the_absolute_one_to_write():
    with scratch_service() as service:
        service.env["KG_STORAGE"] = "mem"
        assert service.spawn().wait(10) == 1
        assert "absolute" in service.log() or str(service.base / "mem") in service.log()


def test_a_busy_port_is_told_at_once_with_its_holder(service):
    with scratch_service() as second:
        second.env["KG_PORT"] = str(service.port)
        assert second.spawn().wait(10) == 1
        assert str(service.port) in second.log()
        assert "KG_PORT" in second.log()


def test_stale_pid_and_socket_files_are_no_hindrance():
    with scratch_service() as service:
        service.start()
        assert service.process is not None
        service.kill_owner()
        service.process.kill()
        service.process.wait()
        record = service.record
        record["pid"] = os.getpid()
        (service.root / "run" / "server.json").write_text(json.dumps(record), encoding="utf-8")
        service.start()
        assert service.health()["status"] == "ok"


def test_stop_signals_only_what_is_proven_to_be_the_service(service):
    record = service.record
    other = {**record, "pid": os.getpid(), "started": 1.0}
    (service.root / "run" / "server.json").write_text(json.dumps(other), encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "-m", "supervisor.cli", "stop"], env=service.env, capture_output=True, text=True, check=False
    )
    assert "no service runs" in told.stdout
    assert service.process is not None
    assert service.process.poll() is None


def test_a_full_disk_answers_not_saved_and_the_write_is_durable_once_there_is_room():
    """RLIMIT_FSIZE stands for the full disk: the journal's segment may not grow past it."""
    with scratch_service() as service:
        service.start()
        sid = service.session()
        pid = service.owner_pid
        size = max(path.stat().st_size for path in service.root.glob("journal/*.jsonl"))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
        text = put(service, sid, "unsaved-node")
        assert text.startswith("NOT SAVED: ")
        health = service.health()
        assert (health["status"], health["journal"]["unsaved_events"] > 0) == ("degraded", True)
        assert "unsaved-node" in service.text("kg_read", session_id=sid, id="unsaved-node")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        until(lambda: service.health()["journal"]["unsaved_events"] == 0)
        assert any(event.get("id") == "unsaved-node" for event in service.journal())
        until(lambda: service.health()["status"] == "ok")
        service.restart()
        assert "unsaved-node" in service.text("kg_read", session_id=service.session(), id="unsaved-node")


def test_two_roots_with_one_name_get_two_graphs(service):
    sids = {}
    for parent in ("one", "two"):
        folder = service.base / parent / "app"
        folder.mkdir(parents=True)
        sids[parent] = service.session(folder)
        service.text("kg_put_node", session_id=sids[parent], level="project", id=f"{parent}-node", gist="x")
    service.restart()
    assert sorted(path.name for path in (service.root / "projects").iterdir()) == ["app", "app-2"]
    assert "NOT FOUND" in service.text("kg_read", session_id=sids["one"], id="two-node")
    assert "two-node" in service.text("kg_read", session_id=sids["two"], id="two-node")


def test_a_moved_folder_takes_its_graph_along(service):
    old, new = service.base / "old-place", service.base / "new-place"
    old.mkdir()
    service.text("kg_put_node", session_id=service.session(old), level="project", id="moving-node", gist="x")
    old.rename(new)
    Path(old).symlink_to(new)
    sid = service.session(new)
    assert "moving-node" in service.text("kg_read", session_id=sid, id="moving-node")
