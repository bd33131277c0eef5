"""A real supervisor with a real owner: what signals, crashes and foreign files do to them."""

import contextlib
import http.client
import os
import shutil
import signal
import socket
import stat
import tempfile
import threading
from pathlib import Path

import psutil
import pytest

from tests.process.toy import LocalConnection, Toy, ask, gone
from tests.waiting import until

STOPPING = [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT]


@pytest.fixture
def folder():
    path = Path(tempfile.mkdtemp(prefix="kg-"))  # short, because a socket's path may have about a hundred bytes
    yield path
    shutil.rmtree(path)


@pytest.fixture
def toy(folder):
    """Start services in the folder; they are ended afterwards."""
    started = []

    def start(**how):
        one = Toy(folder, **how)
        started.append(one)
        return one

    yield start
    for one in started:
        one.discard()


@contextlib.contextmanager
def open_connections(path, count):
    connections = [LocalConnection(path) for _ in range(count)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def ended(connection):
    """Wait for the other side's end of a connection; fails when it sends something else."""
    connection.sock.settimeout(10)
    return connection.sock.recv(1) == b""


def test_the_socket_belongs_to_its_user_alone_whatever_the_umask(toy):
    service = toy(umask=0).started()
    assert stat.S_IMODE(service.socket_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(service.socket_path.parent.stat().st_mode) == 0o700
    assert service.pid() in service.owners()


def test_a_free_port_is_found_and_told(toy):
    service = toy(port=0).started()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    assert ask(connection)["pid"] == service.pid()
    connection.close()


def test_a_busy_port_is_named_with_its_holder_and_a_way_out(toy):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        service = toy(port=port)
        assert service.process.wait(30) == 1
    assert f"Port {port}" in service.log()
    assert f"pid {os.getpid()}" in service.log()
    assert "KG_PORT" in service.log()
    assert not service.socket_path.exists()
    assert not service.notes("ended"), "it never listened"


def test_a_socket_that_was_left_behind_is_replaced(toy, folder):
    (folder / "run").mkdir(mode=0o755)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "run" / "kg.sock"))
    service = toy().started()
    assert service.pid()
    assert stat.S_IMODE((folder / "run").stat().st_mode) == 0o700


def test_a_file_in_the_way_of_the_socket_is_left_alone(toy, folder):
    (folder / "run").mkdir()
    (folder / "run" / "kg.sock").write_text("mine")
    service = toy()
    assert service.process.wait(30) == 1
    assert (folder / "run" / "kg.sock").read_text() == "mine"
    assert "kg.sock is in the way" in service.log()


def test_a_linked_socket_folder_is_refused(toy, folder):
    (folder / "elsewhere").mkdir()
    (folder / "run").symlink_to(folder / "elsewhere")
    service = toy()
    assert service.process.wait(30) == 1
    assert f"{folder / 'run'} is no folder of its own" in service.log()
    assert list((folder / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_socket_folder_of_another_user_is_refused(toy, folder):
    (folder / "run").mkdir()
    os.chown(folder / "run", 12345, -1)
    service = toy()
    assert service.process.wait(30) == 1
    assert "belongs to user 12345" in service.log()


def test_a_killed_owner_is_replaced_and_its_clients_only_wait(toy):
    service = toy().started()
    first = service.pid()
    os.kill(first, signal.SIGKILL)
    assert service.pid() not in {first, 0}, "the connection was neither refused nor answered by the dead"
    assert service.stop() == 0


def test_an_owner_leaves_when_its_supervisor_is_killed(toy):
    service = toy().started()
    owner = service.pid()
    service.process.kill()
    until(lambda: gone(owner))
    assert service.notes("stopped") == {owner}, "its shutdown ran"
    assert service.notes("ended") == set()


def test_a_new_service_takes_over_from_a_killed_one(toy):
    first = toy(port=0).started()
    port, owner = first.port, first.pid()
    first.process.kill()
    second = toy(port=port)
    until(lambda: second.notes("started") - {owner})
    assert second.pid() != owner
    assert second.port == port


def test_no_client_is_refused_while_the_owner_is_replaced(toy):
    service = toy().started()
    failures, pids, done = [], [], threading.Event()

    def client():
        while not done.is_set():
            try:
                pids.append(service.pid())
            except (OSError, http.client.HTTPException) as error:
                failures.append(error)

    clients = [threading.Thread(target=client) for _ in range(3)]
    for one in clients:
        one.start()
    for _ in range(3):
        old = service.pid()
        service.signal(signal.SIGHUP)
        until(lambda old=old: old in service.notes("stopped") and pids[-1] != old)
    done.set()
    for one in clients:
        one.join()
    assert failures == []
    assert len(set(pids)) == 4


def test_a_stop_answers_what_runs_and_lets_idle_clients_go(toy, folder):
    service = toy().started()
    with open_connections(service.socket_path, 20) as idle, open_connections(service.socket_path, 1) as [busy]:
        for connection in idle:
            ask(connection)
        owner = service.pid()
        busy.request("GET", "/slow")
        until((folder / "notes" / "slow-began").exists)
        service.signal(signal.SIGTERM)
        assert all(ended(connection) for connection in idle)
        assert service.process.poll() is None, "it waits for the running request"
        (folder / "go").write_text("")
        with busy.getresponse() as reply:
            assert reply.status == 200
            assert reply.headers["connection"] == "close"
    assert service.process.wait(30) == 0
    assert service.notes("stopped") == {owner}
    assert "cut off" not in service.log()


def test_a_stop_does_not_wait_for_clients_that_never_ask(toy):
    service = toy().started()
    with open_connections(service.socket_path, 3) as silent:
        for connection in silent:
            connection.connect()
        service.pid()
        service.signal(signal.SIGTERM)
        assert all(ended(connection) for connection in silent)
        assert service.process.wait(30) == 0
    assert "cut off" not in service.log()


def test_a_request_whose_head_has_begun_is_answered(toy):
    service = toy().started()
    with open_connections(service.socket_path, 2) as [half, idle]:
        half.connect()
        half.sock.sendall(b"POST /pid HTTP/1.1\r\nhost: x\r\ncontent-")
        ask(idle)
        service.signal(signal.SIGTERM)
        assert ended(idle), "the stop has begun"
        half.sock.sendall(b"length: 3\r\n\r\nabc")
        reply = half.sock.makefile("rb").read()
        assert reply.startswith(b"HTTP/1.1 200 ")
        assert b'"bytes": 3' in reply
    assert service.process.wait(30) == 0


def test_a_head_that_does_not_end_is_given_up(toy):
    service = toy(TOY_HEAD_S="0.3").started()
    with open_connections(service.socket_path, 2) as [slow, kept]:
        slow.connect()
        slow.sock.sendall(b"GET /pid HTTP/1.1\r\nhost: ")
        ask(kept)
        assert slow.sock.makefile("rb").read().startswith(b"HTTP/1.1 408 ")
        assert ask(kept), "an idle connection is kept longer"
        kept.sock.sendall(b"GET /pi")
        assert kept.sock.makefile("rb").read().startswith(b"HTTP/1.1 408 ")


def handshake(service):
    one = service.connect()
    one.connect()
    one.sock.sendall(
        b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    stream = one.sock.makefile("rb")
    while stream.readline().strip():
        pass
    _, length = stream.read(2)
    assert int(stream.read(length)) == service.pid()
    return one, stream


def test_a_page_is_told_to_come_back_and_a_silent_one_is_hung_up_on(toy):
    service = toy().started()
    page, stream = handshake(service)
    service.signal(signal.SIGTERM)
    kind, length = stream.read(2)
    assert kind == 0x88
    assert int.from_bytes(stream.read(length)[:2], "big") == 1012
    assert stream.read() == b"", "it never answered"
    page.close()
    assert service.process.wait(30) == 0
    assert len(service.notes("stopped")) == 1
    assert "cut off" not in service.log()


@pytest.mark.parametrize("number", STOPPING)
def test_every_stopping_signal_runs_the_shutdown(toy, number):
    service = toy().started()
    owner = service.pid()
    service.signal(number)
    assert service.process.wait(30) == 0
    assert service.notes("stopped") == {owner}
    assert service.notes("ended") == {service.process.pid}
    assert service.notes("returned") == {service.process.pid}, "the owner's fork does not return into the caller"
    assert not service.socket_path.exists()


@pytest.mark.parametrize("number", STOPPING)
def test_an_owner_that_is_signalled_itself_leaves_well_and_is_replaced(toy, number):
    service = toy().started()
    owner = service.pid()
    os.kill(owner, number)
    until(lambda: service.notes("stopped") == {owner})
    assert service.pid() != owner


def test_a_terminals_interrupt_reaches_both_and_hurries_nobody(toy, folder):
    service = toy().started()
    owner = service.pid()
    with open_connections(service.socket_path, 1) as [busy]:
        busy.request("GET", "/slow")
        until((folder / "notes" / "slow-began").exists)
        os.kill(owner, signal.SIGTERM)  # what the supervisor sends may be handled first
        os.kill(owner, signal.SIGINT)
        service.signal(signal.SIGINT)
        until(lambda: not service.socket_path.exists())
        (folder / "go").write_text("")
        assert busy.getresponse().read()
    assert service.process.wait(30) == 0
    assert service.notes("stopped") == {owner}


@pytest.mark.parametrize("number", STOPPING)
def test_a_second_signal_cuts_running_requests_off_and_still_shuts_down(toy, folder, number):
    service = toy().started()
    owner = service.pid()
    with open_connections(service.socket_path, 1) as [busy]:
        busy.request("GET", "/slow")
        until((folder / "notes" / "slow-began").exists)
        service.signal(signal.SIGTERM)
        until(lambda: not service.socket_path.exists())
        service.signal(number)
        with pytest.raises(http.client.RemoteDisconnected):
            busy.getresponse()
    assert service.process.wait(30) == 0
    assert service.notes("hurried") == {owner}


def test_an_owner_that_does_not_leave_is_killed_when_hurried(toy):
    service = toy().started()
    owner = service.pid()
    with open_connections(service.socket_path, 1) as [busy]:
        busy.request("GET", "/stuck")
        service.signal(signal.SIGTERM)
        until(lambda: not service.socket_path.exists())
        service.signal(signal.SIGTERM)
        assert service.process.wait(30) == 0
    assert gone(owner)


@pytest.mark.parametrize("number", [signal.SIGTTIN, signal.SIGTTOU, signal.SIGUSR2, signal.SIGWINCH, signal.SIGUSR1])
def test_no_signal_makes_a_second_owner_or_none(toy, number):
    service = toy().started()
    owner = service.pid()
    before = service.log().count("Handling signal")
    service.signal(number)
    until(lambda: service.log().count("Handling signal") > before)
    assert service.pid() == owner
    assert service.owners() == {owner}
    service.stop()
    assert service.notes("waiting") == {owner}


def test_the_environment_of_gunicorn_does_not_reach_the_service(toy, folder):
    notify = folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as init:
        init.bind(str(notify))
        service = toy(
            WEB_CONCURRENCY="4", GUNICORN_PID="1", GUNICORN_FD="0", GUNICORN_CMD_ARGS="--workers 4",
            PORT="1", NOTIFY_SOCKET=str(notify),
        ).started()  # fmt: skip
        assert service.owners() == {service.pid()}
        assert service.stop() == 0
        assert len(service.notes("waiting")) == 1
        init.setblocking(False)
        with pytest.raises(BlockingIOError):
            init.recv(100)


@pytest.mark.parametrize(("file", "status"), [("broken", 1), ("unreadable", 4)])
def test_a_service_whose_owner_cannot_start_ends_with_its_cause(toy, folder, file, status):
    (folder / file).write_text("")
    service = toy()
    assert service.process.wait(30) == status
    assert "it is broken" in service.log() or "the storage is unreadable" in service.log()
    assert not service.socket_path.exists()
    assert service.notes("ended") == {service.process.pid}


def test_an_owner_that_dies_at_once_again_and_again_does_not_spin(toy):
    service = toy().started()
    for _ in range(6):
        owner = service.pid()
        os.kill(owner, signal.SIGKILL)
        until(lambda owner=owner: gone(owner))
    assert service.pid()
    assert "waiting a moment" in service.log()


def test_a_stop_while_the_owner_waits_for_the_lock_is_quick_and_clean(toy, folder):
    first = toy().started()
    holder = first.pid()
    os.kill(holder, signal.SIGSTOP)
    first.process.kill()
    try:
        second = toy()
        until(lambda: second.notes("waiting") - {holder})
        assert second.stop() == 0
        assert second.notes("started") == {holder}
    finally:
        os.kill(holder, signal.SIGCONT)
        until(lambda: gone(holder))


def test_the_supervisor_has_one_thread_and_no_control_socket(toy, folder):
    service = toy().started()
    process = psutil.Process(service.process.pid)
    assert process.num_threads() == 1
    sockets = [one.laddr for one in process.net_connections("unix") if one.laddr]
    assert sockets == [str(service.socket_path)]
    assert not (folder / ".gunicorn").exists()
