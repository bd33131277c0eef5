"""Words to the init system, over a real socket."""

import socket

import pytest

from supervisor.notify import take_notifier


@pytest.mark.parametrize("abstract", [False, True])
def test_a_state_reaches_the_init_system(tmp_path, abstract):
    name = f"@kg-test-{tmp_path.name}" if abstract else str(tmp_path / "notify")
    environ = {"NOTIFY_SOCKET": name}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as init:
        init.bind("\0" + name[1:] if abstract else name)
        init.settimeout(10)
        notify = take_notifier(environ)
        assert environ == {}
        notify("READY=1")
        assert init.recv(100) == b"READY=1"
    notify("STOPPING=1")


def test_without_an_init_system_nothing_happens():
    take_notifier({})("READY=1")
