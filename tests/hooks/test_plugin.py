"""The plugin folder: what both clients read, without the clients. tests/clients has it read by the real one."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from supervisor import __version__

REPOSITORY = Path(__file__).resolve().parents[2]
HOOKS = REPOSITORY / "hooks"
PLUGIN = HOOKS / "plugin"
EVENTS = {"SessionStart": 5, "UserPromptSubmit": 2}  # each with the seconds after which its client gives up


def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _handlers():
    return {
        event: handler
        for event, groups in _read(PLUGIN / "hooks/hooks.json")["hooks"].items()
        for group in groups
        for handler in group["hooks"]
    }


def test_only_events_that_are_answered_are_registered_each_with_its_time_limit():
    assert {event: handler["timeout"] for event, handler in _handlers().items()} == EVENTS


def test_handlers_are_commands_since_another_type_voids_the_file_for_codex():
    assert {handler["type"] for handler in _handlers().values()} == {"command"}


def test_the_plugin_has_the_version_of_kg():
    assert _read(PLUGIN / ".claude-plugin/plugin.json")["version"] == __version__


def test_the_marketplace_leads_to_the_plugin():
    (entry,) = _read(HOOKS / ".claude-plugin/marketplace.json")["plugins"]
    manifest = _read(HOOKS / entry["source"] / ".claude-plugin/plugin.json")
    assert (entry["name"], manifest["name"]) == ("kg", "kg")


def test_the_server_is_a_bare_command_since_codex_expands_no_plugin_folder():
    assert _read(PLUGIN / ".mcp.json") == {"mcpServers": {"kg": {"command": "kg", "args": ["mcp"], "alwaysLoad": True}}}


@pytest.mark.parametrize("event", EVENTS)
def test_a_handler_runs_the_hook_of_its_event(event, tmp_path):
    (tmp_path / "kg-hook").write_text('#!/bin/sh\nprintf "%s|" "$@"; cat\n', encoding="utf-8")
    (tmp_path / "kg-hook").chmod(0o755)
    out = _sh(_handlers()[event]["command"], PATH=f"{tmp_path}:{os.defpath}")
    assert out == f"auto|{event}|stdin"


def test_without_the_program_the_start_of_a_conversation_says_how_to_install_it(tmp_path):
    out = _sh(_handlers()["SessionStart"]["command"], PATH=os.defpath)
    assert "uv tool install" in json.loads(out)["systemMessage"]


def test_without_the_program_a_prompt_is_left_alone():
    assert _sh(_handlers()["UserPromptSubmit"]["command"], PATH=os.defpath) == ""


def _sh(command, **variables):
    process = subprocess.run(
        ["sh", "-c", command], input="stdin", env=variables, capture_output=True, text=True, timeout=30, check=True
    )
    assert process.stderr == ""
    return process.stdout
