"""The real Claude Code with the shipped plugin, against a scripted model; a request is searched whole, not by role."""

import os
import re
import subprocess

import pytest

from tests.clients.claude_rig import PLUGIN, TOOL, Claude
from tests.clients.fake_model import Say, Use
from tests.serving import scratch_service

GIST = "the till rounds half cents up, ü 会 🙂"
PRELOAD = re.compile(r"session_id: ([0-9a-f]{8})")


def _session(asked):
    found = PRELOAD.search(asked.text)
    assert found, "no preload reached the model"
    return found[1]


def _finish(_asked):
    return [Say("done")]


def _write(asked):
    arguments = {"session_id": _session(asked), "level": "project", "id": "till-rounds-up", "gist": GIST}
    return [Use(TOOL.format("kg_put_node"), arguments)]


def test_what_one_conversation_writes_is_in_the_preload_of_the_next(claude, model, service):
    model.turns = [_write, _finish]
    first = claude.converse("remember how the till rounds", model)
    assert (first.code, first.result["result"]) == (0, "done"), first
    session = _session(model.asked[0])
    assert GIST not in model.asked[0].text
    assert "Saved: project/till-rounds-up (new)" in model.asked[1].text

    model.turns = [_finish]
    second = claude.converse("what do you know", model)
    assert second.code == 0, second
    fresh = model.asked[2]
    assert f"till-rounds-up: {GIST}" in fresh.text
    assert _session(fresh) != session
    written = [event for event in service.journal() if event["kind"] == "node_put"]
    assert [(event["id"], event["by"]) for event in written] == [("till-rounds-up", session)]


def test_the_ten_tools_are_offered_with_the_first_request(claude, model):
    model.turns = [_finish]
    claude.converse("hello", model)
    tools = [name for name in model.asked[0].tools if name.startswith(TOOL.format(""))]
    assert len(tools) == 10
    assert TOOL.format("kg_read") in tools


def test_the_whole_memory_reaches_the_model_through_the_shim(claude, model, service):
    notes = [f"reason {number}: {'wörd 会 ' * 30}" for number in range(20)]
    service.text("kg_put_node", session_id=service.session(), level="user", id="long-node-here", gist="g", notes=notes)
    read = {"id": "long-node-here"}
    model.turns = [lambda asked: [Use(TOOL.format("kg_read"), {"session_id": _session(asked), **read})], _finish]
    assert claude.converse("read it", model).result["permission_denials"] == []
    missing = [note for note in notes if note.strip() not in model.asked[1].text]
    assert missing == []


def test_switched_off_the_hooks_bring_nothing_and_leave_nothing(claude, model, service):
    before = len(service.journal())
    model.turns = [_finish]
    assert claude.converse("hello", model, KG_HOOKS="off").code == 0
    assert not PRELOAD.search(model.asked[0].text)
    assert len(service.journal()) == before


def test_a_cold_start_still_brings_the_preload(claude_binary, model):
    with scratch_service() as scratch:
        scratch.start()
        scratch.text("kg_put_node", session_id=scratch.session(), level="user", id="cold-start-node", gist=GIST)
        scratch.stop()
        rig = Claude(claude_binary, scratch.home, scratch.base / "shop")
        rig.prepare(scratch)
        model.turns = [_finish]
        try:
            assert rig.converse("hello", model).code == 0
            assert f"cold-start-node: {GIST}" in model.asked[0].text
        finally:
            stopped = subprocess.run(["kg", "stop"], env=rig.environ(model), capture_output=True, check=False)
        assert stopped.returncode == 0, stopped


@pytest.mark.parametrize("folder", [PLUGIN, PLUGIN.parent], ids=["plugin", "marketplace"])
def test_the_client_finds_no_fault_with_the_manifests(claude_binary, tmp_path, folder):
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [str(claude_binary), "plugin", "validate", "--strict", str(folder)], env=environment, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
