"""The hooks and the real service: cold start, hung owner, broken input, switched off (C35, C36, C41, C61, C63)."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.serving import REPOSITORY, Service, scratch_service
from tests.waiting import until

FORMS = {
    "sh": [str(REPOSITORY / "hooks" / "kg-hook")],
    "python": [sys.executable, "-I", "-S", "-E", str(REPOSITORY / "hooks" / "main.py")],
}
GIST = "the till rounds half cents up"
BIG = 2_000_000  # bytes of a prompt that a person pasted


@dataclass(frozen=True, slots=True)
class Hook:
    """One form of the hook, for conversations in one folder."""

    command: list[str]
    service: Service
    folder: Path

    def start(self, event: str, **variables: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self.command, "claude", event], env={**self.service.env, **variables}, cwd=self.folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, event: str, stdin: bytes, **variables: str) -> bytes:
        process = self.start(event, **variables)
        out, err = process.communicate(stdin, timeout=60)
        assert (process.returncode, err) == (0, b"")
        return out

    def tell(self, event: str, **fields: str) -> str:
        """The context that the event brings."""
        out = self.run(event, self.payload(event, **fields))
        return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""

    def payload(self, event: str, **fields: str) -> bytes:
        common = {"session_id": "conversation-1", "cwd": str(self.folder), "hook_event_name": event}
        return json.dumps({**common, **fields}).encode()


def _stop_with_kg(service: Service) -> None:
    """End a service that a hook started."""
    done = subprocess.run(
        [sys.executable, "-m", "supervisor.cli", "stop"], env=service.env, cwd=service.base, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode in {0, 5}, done


@pytest.fixture(params=FORMS)
def hook(request: pytest.FixtureRequest) -> Iterator[Hook]:
    """A hook beside a service that has one lesson of the user, and is stopped."""
    with scratch_service() as service:
        service.start()
        service.text("kg_put_node", session_id=service.session(), level="user", id="till-rounds-up", gist=GIST)
        service.stop()
        folder = service.base / "shop"
        folder.mkdir()
        made = Hook(FORMS[request.param], service, folder)
        yield made
        if service.process is not None and service.process.poll() is not None:
            _stop_with_kg(service)


def _acknowledged(service: Service) -> int:
    """How many times the log says that a gist was really shown."""
    return sum("till-rounds-up" in json.dumps(event) for event in service.journal() if event["kind"] != "node_put")


def test_a_session_start_in_the_cold_brings_the_preload_of_what_it_started(hook):
    assert GIST in hook.tell("SessionStart", source="startup")
    assert hook.service.health()["status"] == "ok"
    until(lambda: _acknowledged(hook.service))


def test_a_prompt_in_the_cold_is_left_alone_and_the_next_one_carries_the_preload(hook):
    assert hook.tell("UserPromptSubmit", prompt="round it") == ""

    def served() -> bool:
        try:
            return hook.service.http("GET", "/health").status == 200
        except (OSError, ValueError):
            return False

    until(served, within_s=20)
    assert GIST in hook.tell("UserPromptSubmit", prompt="round it again")


def test_a_hung_owner_costs_a_prompt_nothing_but_a_moment_and_no_knowledge(hook):
    """What the stopped owner finds in its backlog later was answered to nobody, so it must not count as shown."""
    hook.service.start()
    owner = hook.service.owner_pid
    os.kill(owner, signal.SIGSTOP)
    try:
        assert hook.tell("UserPromptSubmit", prompt="round it") == ""
    finally:
        os.kill(owner, signal.SIGCONT)
    assert _acknowledged(hook.service) == 0
    assert GIST in hook.tell("SessionStart", source="startup")


@pytest.mark.parametrize("stdin", [b'{"prompt":"x', b"", b"[1]", b"\xff\xfe{", b"null", b"{}" * 5])
def test_broken_input_brings_nothing_and_the_next_event_works(hook, stdin):
    hook.service.start()
    assert hook.run("UserPromptSubmit", stdin) == b""
    assert GIST in hook.tell("SessionStart", source="startup")


def test_a_prompt_of_two_megabytes_is_answered_or_left_alone(hook):
    hook.service.start()
    assert GIST in hook.tell("SessionStart", source="startup")
    hook.tell("UserPromptSubmit", prompt="w " * (BIG // 2))
    assert hook.service.health()["status"] == "ok"


def test_switched_off_no_event_leaves_a_session_or_a_word_in_the_log(hook):
    hook.service.start()
    before = hook.service.journal()
    for event in ("SessionStart", "UserPromptSubmit"):
        assert hook.run(event, hook.payload(event, prompt="a-secret-word"), KG_HOOKS="off") == b""
    assert hook.service.journal() == before
    assert "a-secret-word" not in hook.service.log()


def test_the_log_holds_no_prompt(hook):
    hook.service.start()
    hook.tell("UserPromptSubmit", prompt="a-secret-word " * 3)
    assert "a-secret-word" not in hook.service.log()


def test_a_home_with_blanks_and_other_letters_works_from_cold_to_preload(hook):
    odd = hook.service.base / "Jane Doe ü 会"
    odd.mkdir()
    moved = odd / "mem öry"
    hook.service.root.rename(moved)
    hook.service.root = moved
    hook.service.env |= {"HOME": str(odd), "KG_STORAGE": "~/mem öry", "XDG_CONFIG_HOME": str(odd / ".config")}
    assert GIST in hook.tell("SessionStart", source="startup")
