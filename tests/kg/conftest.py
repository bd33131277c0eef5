import pytest

from tests.kg.peer import Peer


@pytest.fixture
def peer():
    """An owner in memory."""
    return Peer()


@pytest.fixture
def s(peer):
    """A session of the project."""
    return peer.open()


@pytest.fixture
def t(peer):
    """Another one."""
    return peer.open()
