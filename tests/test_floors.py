"""The shape of the code: floors, sizes, and what no file of the project may name."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("kg", "supervisor", "web", "workers", "shim", "hooks")
MODULE_LINES = 400
FUNCTION_LINES = 60


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_imports_point_down_and_the_core_is_pure():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_stay_short_and_modules_say_what_they_are(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MODULE_LINES
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    long = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= FUNCTION_LINES
    ]
    assert long == []


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout
    if not listed:
        pytest.skip("not a git checkout: which files belong to the project is not known")
    return [ROOT / name.decode() for name in listed.split(b"\0") if name]


def test_no_file_names_a_registry_or_a_folder_of_a_developers_machine():
    hosts = re.compile(r"(registry\.npmjs|pypi\.org|files\.pythonhosted|deb\.debian)", re.IGNORECASE)
    folders = re.compile(r"(?<![\w.])/(work|root|Users/[a-z]+)/(?!\.\.)")
    found = []
    for path in tracked():
        if path.name == "uv.lock" or path == Path(__file__) or not path.is_file():
            continue  # the lock file of uv cannot do without
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [(path.name, hit.group()) for pattern in (hosts, folders) for hit in pattern.finditer(text)]
    assert found == []


def test_every_number_has_a_name_and_a_reason():
    bare = [
        line
        for line in (ROOT / "kg" / "limits.py").read_text(encoding="utf-8").splitlines()
        if re.match(r"[A-Z][A-Z_0-9]* = ", line) and "#" not in line
    ]
    assert bare == []
