"""What is shipped: one wheel with six packages, and one version everywhere."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from supervisor import __version__

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    uv = shutil.which("uv") or next(
        (str(path) for path in [ROOT / ".cache" / "uv" / "bin" / "uv"] if path.exists()), None
    )
    if uv is None:
        pytest.skip("uv is not installed: the wheel cannot be built (make test installs it)")
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([uv, "build", "--wheel", "--out-dir", out, ROOT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(next(out.glob("*.whl")))


def test_the_wheel_holds_the_six_packages_and_nothing_else(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    info = f"kg_supervisor-{__version__}"
    assert tops == {"kg", "supervisor", "web", "workers", "shim", "hooks", f"{info}.dist-info", f"{info}.data"}


def test_it_brings_the_commands_the_hook_script_the_plugin_and_the_licence(wheel):
    names = wheel.namelist()
    assert f"kg_supervisor-{__version__}.data/scripts/kg-hook" in names
    assert "hooks/plugin/.claude-plugin/plugin.json" in names
    assert "hooks/.claude-plugin/marketplace.json" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    entry = wheel.read(f"kg_supervisor-{__version__}.dist-info/entry_points.txt").decode()
    assert "kg = supervisor.cli:main" in entry
    assert "kg-mcp = shim.launch:main" in entry


def test_the_plain_package_names_are_this_projects():
    for name in ("kg", "supervisor", "web", "workers", "shim", "hooks"):
        __import__(name)
        assert Path(sys.modules[name].__file__).is_relative_to(ROOT)


def test_command_and_service_print_one_version(service):
    told = subprocess.run(
        [sys.executable, "-m", "supervisor.cli", "version"], env=service.env, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == f"kg {__version__}"
    assert service.health()["version"] == service.record["version"] == __version__
