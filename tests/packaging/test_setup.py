"""Setup says what is missing: make meets a machine whose python3 does not fit."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NEEDED = ("sh", "grep", "sed", "expand", "touch", "echo", "test", "rm")

# A python3 that answers the Makefile's questions; `venv` is what it must never be asked for.
STAND_IN = """#!/bin/sh
case "$*" in
*version_info*) exit {fits} ;;
*ensurepip*) exit {has_venv} ;;
*-V*) echo "Python {version}" ;;
*) echo "asked for $*" "system certificates: ${{UV_SYSTEM_CERTS-no}}" >&2; exit 9 ;;
esac
"""


@pytest.fixture
def checkout(tmp_path) -> Path:
    """The files that setup looks at, in a folder with a blank."""
    folder = tmp_path / "check out"
    (folder / "hooks").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "uv.lock", "hooks/kg-hook"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def make(checkout: Path, *words: str, python3: str | None) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make")
    if program is None:
        pytest.skip("make is not installed")
    tools = checkout.parent / "bin"
    tools.mkdir()
    for name in NEEDED:
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    if python3 is not None:
        (tools / "python3").write_text(python3, encoding="utf-8")
        (tools / "python3").chmod(0o755)
    env = {"PATH": str(tools), "HOME": str(checkout.parent)}
    return subprocess.run([program, *words], cwd=checkout, env=env, capture_output=True, text=True, check=False)


def test_no_python3_is_named_with_the_packages_that_bring_it(checkout):
    done = make(checkout, "test", python3=None)
    assert done.returncode != 0
    assert "kg needs python3" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr


def test_an_old_python3_is_named_with_its_version(checkout):
    done = make(checkout, "run", python3=STAND_IN.format(fits=1, has_venv=0, version="3.9.2"))
    assert done.returncode != 0
    assert "kg needs Python 3.11 to 3.14, and python3 is Python 3.9.2" in done.stderr


def test_a_missing_venv_module_is_named_with_the_package_that_brings_it(checkout):
    done = make(checkout, "test", python3=STAND_IN.format(fits=0, has_venv=1, version="3.11.2"))
    assert done.returncode != 0
    assert "apt-get install python3-venv" in done.stderr
    assert "asked for" not in done.stderr


def test_a_fitting_python3_is_asked_for_an_environment(checkout):
    done = make(checkout, "test", python3=STAND_IN.format(fits=0, has_venv=0, version="3.11.2"))
    assert done.returncode != 0
    assert "asked for -m venv --clear .cache/uv" in done.stderr


@pytest.mark.parametrize(("bundle", "said"), [("pyproject.toml", "true"), ("none.crt", "no")])
def test_the_systems_certificates_count_where_there_are_some(checkout, bundle, said):
    stand_in = STAND_IN.format(fits=0, has_venv=0, version="3.11.2")
    done = make(checkout, "test", f"CERTIFICATES={bundle}", python3=stand_in)
    assert f"system certificates: {said}" in done.stderr


def test_help_names_every_goal_without_setting_anything_up(checkout):
    done = make(checkout, "help", python3=None)
    assert done.returncode == 0, done.stderr
    for goal in ("run", "test", "check", "bench", "clean"):
        assert f"make {goal} " in done.stdout
    assert not (checkout / ".venv").exists()
    assert not (checkout / ".cache").exists()
