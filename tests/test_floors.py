"""The shape of the code: floors, homes, sizes, and what no file of the project may name."""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("kg", "supervisor", "web", "workers", "shim", "hooks")
MODULE_LINES = 400
FUNCTION_LINES = 60

# The modules in which a third party may be named (docs/architecture.md); a folder stands for all in it. A dependency
# without a row here, or a use outside of its row, is a decision and needs a record.
HOMES = {
    "apscheduler": ("supervisor/schedule.py",),
    "falcon": ("web/",),
    "fasteners": ("supervisor/locks.py",),
    "gunicorn": ("supervisor/arbiter.py", "supervisor/webworker.py"),
    "multiprocess": ("supervisor/workerlink.py", "workers/main.py"),
    "orjson": ("kg/codec.py", "web/"),
    "prometheus_client": ("web/metrics.py",),
    "psutil": ("supervisor/health.py",),
    "rich": ("supervisor/status.py", "supervisor/explaining.py"),
    "snowballstemmer": ("kg/tokens.py",),
}
UNNAMED = {"uvloop", "gunicorn-h1c"}  # gunicorn takes them when they are there


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


def imported(tree: ast.Module) -> Iterator[str]:
    """Top names of what a module imports, also by `import_module("…")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and "import_module" in ast.dump(node):
            named = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            yield from (str(name).partition(".")[0] for name in named)


def test_third_parties_stay_in_their_homes():
    strays = []
    used = set()
    for path in modules():
        name = path.relative_to(ROOT).as_posix()
        for module in set(imported(ast.parse(path.read_text(encoding="utf-8")))):
            if module in sys.stdlib_module_names or module in PACKAGES:
                continue
            used.add(module)
            homes = HOMES.get(module, ())
            if not any(name == home or (home.endswith("/") and name.startswith(home)) for home in homes):
                strays.append((name, module))
    assert strays == []
    assert used == set(HOMES)


def test_every_dependency_has_a_home():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {re.split(r"[^\w-]", wish)[0] for wish in project["dependencies"]}
    assert named - UNNAMED == {name.replace("_", "-") for name in HOMES}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout
    if not listed:
        pytest.skip("not a git checkout: which files belong to the project is not known")
    return [ROOT / name.decode() for name in listed.split(b"\0") if name]


HOSTS = re.compile(
    r"(registry\.(npmjs|yarnpkg)|registry\.npmmirror|pypi\.org|files\.pythonhosted|deb\.debian|static\.crates)",
    re.IGNORECASE,
)
# Ada is the person of the examples; whoever else has a home here is a developer.
FOLDERS = re.compile(r"(?<![\w.])/((work|root)(?![\w-])|(home|Users)/(?!ada\b)[A-Za-z])")


def test_no_file_names_a_registry_or_a_folder_of_a_developers_machine():
    found = []
    for path in tracked():
        if path.name == "uv.lock" or path == Path(__file__) or not path.is_file():
            continue  # the lock file of uv cannot do without
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [(path.name, hit.group()) for pattern in (HOSTS, FOLDERS) for hit in pattern.finditer(text)]
    assert found == []


def test_the_patterns_find_what_they_look_for():
    # Put together here, since this file is looked through as well.
    work, root, registry = (f"/{name}" for name in ("work", "root", "registry"))
    assert HOSTS.search(f"https:/{registry}.npmjs.org/left-pad")
    for folder in (f"{work}/notes.md", f"HOME={root}", "/home/eve/kg", "/Users/Eve/kg", "/home/adam"):
        assert FOLDERS.search(f"see {folder}"), folder
    for folder in (f"frame{work}/notes.md", "/home/ada/app", "/home/{name}", "<config>/kg/root", "/workers/main.py"):
        assert not FOLDERS.search(f"see {folder}"), folder


def test_every_number_has_a_name_and_a_reason():
    text = (ROOT / "kg" / "limits.py").read_text(encoding="utf-8")
    commented = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and re.match(r"#\W*\w", token.string)
    }
    numbers = [node for node in ast.parse(text).body if isinstance(node, ast.Assign | ast.AnnAssign)]
    assert len(numbers) > 100
    bare = [ast.unparse(node) for node in numbers if not commented & set(range(node.lineno, node.end_lineno + 1))]
    assert bare == []


def test_the_architecture_page_names_every_module():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = {word.strip("/").rpartition("/")[2].removesuffix(".py") for word in re.findall(r"`([\w/.]+)`", page)}
    inside = [path for package in ("kg", "supervisor", "web") for path in (ROOT / package).iterdir()]
    there = {path.stem for path in inside if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there - named == {"__init__"}


def test_the_index_of_decisions_lists_every_record():
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\d{4})\]\((\1-[\w-]+\.md)\)", index, re.MULTILINE)
    assert sorted(name for _, name in listed) == sorted(path.name for path in folder.glob("0*.md"))


def test_every_record_says_context_decision_and_consequences():
    for path in (ROOT / "docs" / "adr").glob("0*.md"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(path.name[:4])}. "), path.name
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"], path.name
