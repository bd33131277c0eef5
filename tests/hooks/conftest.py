import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.hook_server import HookServer
from tests.waiting import until

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "hooks/kg-hook"
MAIN = REPOSITORY / "hooks/main.py"
BASE_PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: bytes
    err: bytes


@dataclass(slots=True)
class Home:
    """A person's home with a server's root in the default place, and the hook as a client would run it."""

    path: Path
    command: list[str]
    variables: dict[str, str]
    server: HookServer

    def environ(self, **variables: str) -> dict[str, str]:
        return (
            {"HOME": str(self.path), "PATH": os.defpath, "XDG_RUNTIME_DIR": str(self.runtime)}
            | self.variables
            | variables
        )

    @property
    def root(self) -> Path:
        return self.server.root

    @property
    def runtime(self) -> Path:
        return self.path.parent / "run"

    @property
    def bin(self) -> Path:
        """A folder with programs of this test, first on the path."""
        folder = self.path.parent / "bin"
        if not folder.exists():
            folder.mkdir()
            self.variables["PATH"] = f"{folder}:{os.defpath}"
        return folder

    def program(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def start(self, *words: str, **variables: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self.command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environ(**variables), cwd=self.path.parent,
        )  # fmt: skip

    def run(self, *words: str, stdin: bytes = b'{"prompt":"x"}', **variables: str) -> Outcome:
        process = self.start(*words, **variables)
        out, err = process.communicate(stdin, timeout=60)
        return Outcome(process.returncode, out, err)


SILENT = Outcome(0, b"", b"")


@pytest.fixture
def silent() -> Outcome:
    return SILENT


@pytest.fixture
def folder():
    # Short, because a socket's path may have about a hundred bytes.
    path = Path(tempfile.mkdtemp(prefix="kg-"))
    yield path

    def gone() -> bool:
        # What a hook began behind itself may still be writing its stamp.
        shutil.rmtree(path, ignore_errors=True)
        return not path.exists()

    until(gone)


def _home(folder: Path, command: list[str], name: str) -> Home:
    path = folder / name
    path.mkdir()
    root = path / ".local/share/kg"
    (folder / "run").mkdir(mode=0o700)
    return Home(path, command, {}, HookServer(root, folder / "run/kg/s.sock"))


SH = [str(SCRIPT)]
PYTHON = [str(BASE_PYTHON), "-I", "-S", "-E", str(MAIN)]


@pytest.fixture(params=[SH, PYTHON], ids=["sh", "python"])
def home(request, folder):
    """The hook in both its forms."""
    made = _home(folder, request.param, "home")
    yield made
    made.server.stop()


@pytest.fixture
def sh_home(folder):
    made = _home(folder, SH, "home")
    yield made
    made.server.stop()


@pytest.fixture
def python_home(folder):
    made = _home(folder, PYTHON, "home")
    made.server.start()
    yield made
    made.server.stop()


@pytest.fixture(params=[SH, PYTHON], ids=["sh", "python"])
def odd_home(request, folder):
    made = _home(folder, request.param, "Jane Doe ü 会")
    yield made
    made.server.stop()


@pytest.fixture
def took() -> Callable[[Callable[[], object]], float]:
    def measure(action: Callable[[], object]) -> float:
        began = time.monotonic()
        action()
        return time.monotonic() - began

    return measure
