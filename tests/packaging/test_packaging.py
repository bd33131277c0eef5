"""What is shipped: one wheel with six packages, and one version everywhere."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from supervisor import __version__

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = {"kg", "supervisor", "web", "workers", "shim", "hooks"}
DISTRIBUTION = "kg-supervisor"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What uv says when it cannot have the build backend, which is the machine's fault and not the wheel's.
NO_BACKEND = "Failed to resolve requirements from `build-system.requires`"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    uv = shutil.which("uv") or shutil.which(ROOT / ".cache" / "uv" / "bin" / "uv")
    if uv is None:
        pytest.skip("uv is not installed: the wheel cannot be built (make test installs it)")
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([uv, "build", "--wheel", "--out-dir", out, ROOT], capture_output=True, text=True, check=False)
    if NO_BACKEND in done.stderr:
        pytest.skip(f"the build backend cannot be had: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(next(out.glob("*.whl")))


def info(wheel: zipfile.ZipFile, name: str) -> str:
    return wheel.read(f"kg_supervisor-{__version__}.dist-info/{name}").decode()


def test_the_wheel_holds_the_six_packages_and_nothing_else(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    stem = f"kg_supervisor-{__version__}"
    assert tops == PACKAGES | {f"{stem}.dist-info", f"{stem}.data"}
    assert not [name for name in wheel.namelist() if "test" in name or name.endswith(".pyc")]


def test_every_file_of_a_package_is_in_the_wheel(wheel):
    here = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert here - set(wheel.namelist()) <= {"hooks/kg-hook"}  # it goes among the scripts


def test_the_hook_script_is_shipped_as_it_is(wheel):
    shipped = wheel.read(f"kg_supervisor-{__version__}.data/scripts/kg-hook")
    assert shipped == (ROOT / "hooks" / "kg-hook").read_bytes()


def test_the_commands_are_console_scripts_that_exist(wheel):
    entries = dict(
        line.split(" = ") for line in info(wheel, "entry_points.txt").splitlines() if line and not line.startswith("[")
    )
    assert entries == {"kg": "supervisor.cli:main", "kg-mcp": "shim.launch:main"}
    for point in importlib.metadata.distribution(DISTRIBUTION).entry_points:
        assert callable(point.load())


def test_the_licence_travels_with_the_wheel(wheel):
    assert info(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "License-Expression: MIT" in info(wheel, "METADATA")


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_plain_package_name_belongs_to_this_project_alone(name):
    # The top folder of each file that an installed distribution brings; an editable install of ours brings none.
    owners = {
        found.name
        for found in importlib.metadata.distributions()
        for file in found.files or ()
        if file.parts[0] == name
    }
    assert owners <= {DISTRIBUTION}
    code = f"import {name}; print({name}.__file__)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(ROOT)
    assert name not in sys.stdlib_module_names


def test_the_version_has_one_source(wheel):
    assert "version" in PROJECT["dynamic"]
    assert importlib.metadata.version(DISTRIBUTION) == __version__
    assert f"\nVersion: {__version__}\n" in info(wheel, "METADATA")


def test_command_and_service_print_one_version(service):
    told = subprocess.run(
        [sys.executable, "-m", "supervisor.cli", "version"], env=service.env, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == f"kg {__version__}"
    assert service.health()["version"] == service.record["version"] == __version__


def test_the_hook_script_can_be_run():
    assert os.access(ROOT / "hooks" / "kg-hook", os.X_OK)
