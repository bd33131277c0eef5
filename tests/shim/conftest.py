import shutil
import tempfile
from pathlib import Path

import pytest

from tests.fakes.local_server import LocalServer
from tests.fakes.shim_process import ShimProcess


@pytest.fixture
def folder():
    # Short, because a socket's path may have about a hundred bytes.
    path = Path(tempfile.mkdtemp(prefix="kg-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def down(folder):
    """A server that has not been started."""
    server = LocalServer(folder / "root", folder / "s.sock")
    yield server
    server.stop()


@pytest.fixture
def server(down):
    down.start()
    return down


@pytest.fixture
def shim(server):
    with ShimProcess(server.root) as process:
        yield process
