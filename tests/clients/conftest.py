import os
from pathlib import Path

import pytest

from tests.clients.claude_rig import Claude
from tests.clients.fake_model import FakeModel
from tests.serving import REPOSITORY, Service

MODULES = REPOSITORY / ".cache" / "clients" / "node_modules"
INSTALL = "scripts/install-clients.sh installs it"


@pytest.fixture
def claude_binary() -> Path:
    """The native program of Claude Code; KG_CLAUDE names another one."""
    named = os.environ.get("KG_CLAUDE")
    found = [Path(named)] if named else sorted(MODULES.glob("@anthropic-ai/claude-code-*/claude"))
    if not found or not os.access(found[0], os.X_OK):
        pytest.skip(f"Claude Code is not here; {INSTALL}")
    return found[0]


@pytest.fixture
def claude(claude_binary: Path, service: Service) -> Claude:
    """Claude Code beside a running service."""
    rig = Claude(claude_binary, service.home, service.base / "shop")
    rig.prepare(service)
    return rig


@pytest.fixture
def model():
    """A model without a script; what went wrong in its turns fails the test."""
    with FakeModel() as fake:
        yield fake
    assert fake.faults == []


@pytest.fixture
def conformance() -> Path:
    """The official suite's program."""
    program = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "run.mjs"
    if not program.exists():
        pytest.skip(f"the conformance suite is not here; {INSTALL}")
    return program
