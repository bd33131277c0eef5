"""One headless conversation of the real Claude Code: own home, a scripted model, kg through the shipped plugin."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.fake_model import FakeModel
from tests.serving import REPOSITORY, Service

PLUGIN = REPOSITORY / "hooks" / "plugin"
TOOL = "mcp__plugin_kg_kg__{}"  # what Claude Code calls a tool of a plugin's server
RUN_S = 90
NOWHERE = "http://127.0.0.1:9"  # a proxy that is not there: what is not for the loopback fails at once


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a run left."""

    code: int
    result: Mapping[str, Any]
    err: str


@dataclass(frozen=True, slots=True)
class Claude:
    """Claude Code on a machine of its own, with a memory that it is not told about by any variable."""

    binary: Path
    home: Path
    project: Path

    def prepare(self, service: Service) -> None:
        """Make the folders, put this checkout's hook on the path, and name the memory as `kg setup` would."""
        self.project.mkdir(exist_ok=True)
        programs = self.home / "bin"
        programs.mkdir()
        (programs / "kg-hook").symlink_to(REPOSITORY / "hooks" / "kg-hook")
        (programs / "kg").symlink_to(Path(sys.executable).parent / "kg")
        line = self.home / ".config" / "kg" / "root"
        line.parent.mkdir(parents=True, exist_ok=True)
        line.write_text(f"{service.root}\n", encoding="utf-8")

    def environ(self, model: FakeModel, **variables: str) -> dict[str, str]:
        """What the client gets, and hands down to the hooks and the shim."""
        path = f"{self.home / 'bin'}:{Path(sys.executable).parent}:{os.defpath}"
        return {
            "HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "USER": "tester",
            "TMPDIR": str(self.home), "XDG_RUNTIME_DIR": str(self.home), "KG_PORT": "0",
            "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "test",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1", "HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost", **variables,
        }  # fmt: skip

    def converse(self, prompt: str, model: FakeModel, *words: str, **variables: str) -> Conversation:
        """Say one thing and wait until the model has finished."""
        command = [
            str(self.binary), "-p", prompt, "--output-format", "json", "--plugin-dir", str(PLUGIN), "--tools", "",
            "--allowedTools", TOOL.format("*"), *words,
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=self.project, env=self.environ(model, **variables), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=RUN_S, check=False,
        )  # fmt: skip
        out, err = done.stdout.decode(), done.stderr.decode()
        try:
            return Conversation(done.returncode, json.loads(out), err)
        except ValueError:
            raise AssertionError(f"Claude Code ended with {done.returncode}: {out}{err}") from None
