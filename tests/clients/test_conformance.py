"""The official MCP conformance suite against a real service, once in each era of the protocol.

The service is `fixture_server.py`, kg with the few tools that the suite calls by name; npm/preload.mjs adds the token
to the suite's requests. What does not apply to a server with tools only is listed in baseline-*.yml. The suite takes it
for an error when a scenario passes against its listing, and warnings count as failures.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import REPOSITORY, scratch_service
from tests.waiting import until

HERE = REPOSITORY / "tests/clients"
SUITE_S = 100  # it takes 3 s on an idle machine
IN_BOTH_ERAS = {"tools-list", "tools-call-simple-text", "tools-call-error", "dns-rebinding-protection"}
APPLICABLE = {
    "2025-11-25": IN_BOTH_ERAS | {"server-initialize", "ping"},
    "2026-07-28": IN_BOTH_ERAS
    | {
        "server-stateless",
        "server-sse-multiple-streams",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
    },
}


@pytest.fixture
def fixture_service():
    with scratch_service() as service:
        with (service.base / "stderr").open("ab") as log:
            service.process = subprocess.Popen(
                [sys.executable, str(HERE / "fixture_server.py"), str(service.root)],
                env=service.env, cwd=service.base, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        until(service.answers, within_s=15)
        yield service


@pytest.mark.parametrize("era", APPLICABLE)
def test_every_scenario_that_applies_to_a_server_with_tools_only_passes(era, conformance, fixture_service, tmp_path):
    suite = subprocess.run(
        [
            "node", "--import", str(HERE / "npm/preload.mjs"), str(conformance), "server",
            "--url", f"http://127.0.0.1:{fixture_service.port}/mcp", "--requirements", era,
            "--expected-failures", str(HERE / f"baseline-{era}.yml"), "--output-dir", str(tmp_path),
        ],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KG_TEST_TOKEN": fixture_service.token},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SUITE_S, check=False,
    )  # fmt: skip
    checks = _checks(tmp_path)
    passed = {scenario for scenario, statuses in checks.items() if _passed(statuses)}
    assert APPLICABLE[era] - passed == set(), suite.stdout
    assert suite.returncode == 0, suite.stdout


def _checks(folder: Path) -> dict[str, list[str]]:
    """The statuses of each scenario's checks. Its folder's name is the scenario between `server-` and a time."""
    found: dict[str, list[str]] = {}
    for path in folder.glob("server-*/checks.json"):
        name = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.*", path.parent.name)
        assert name, path
        found[name[1]] = [check["status"] for check in json.loads(path.read_text(encoding="utf-8"))]
    return found


def _passed(statuses: list[str]) -> bool:
    return "SUCCESS" in statuses and not {"FAILURE", "WARNING"} & set(statuses)
