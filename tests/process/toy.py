"""The test's side of the toy service: its process, its notes, and connections to it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil

from tests.waiting import until

REPOSITORY = Path(__file__).resolve().parents[2]


class LocalConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Toy:
    """One toy service in a folder of its own."""

    def __init__(self, folder, *, port=None, umask=None, **variables):
        self.folder = folder
        environ = {"HOME": str(folder), "PATH": os.defpath, "PYTHONPATH": str(REPOSITORY)} | variables
        self.errors = (folder / "errors").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("toy_service.py")), str(folder)]
            + ([] if port is None else [str(port)]),
            env=environ,
            stdin=subprocess.DEVNULL,
            stderr=self.errors,
            umask=-1 if umask is None else umask,
        )

    @property
    def socket_path(self):
        return self.folder / "run" / "kg.sock"

    @property
    def port(self):
        return json.loads((self.folder / "server.json").read_text())["port"]

    def started(self):
        """Wait until an owner serves; return self."""
        until(lambda: self.notes("started") or self.process.poll() is not None)
        assert self.process.poll() is None, self.log()
        return self

    def notes(self, begin):
        """The pids of the notes that begin so."""
        return {int(path.name.rpartition("-")[2]) for path in (self.folder / "notes").glob(f"{begin}-*")}

    def log(self):
        return (self.folder / "errors").read_text()

    def connect(self):
        return LocalConnection(self.socket_path)

    def pid(self):
        """Ask the owner for its pid on a connection of its own."""
        connection = self.connect()
        try:
            return ask(connection)["pid"]
        finally:
            connection.close()

    def owners(self):
        """The pids of the supervisor's living children."""
        try:
            children = psutil.Process(self.process.pid).children()
        except psutil.NoSuchProcess:
            return set()
        return {child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE}

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Stop and return the exit status."""
        self.signal(signal.SIGTERM)
        return self.process.wait(60)

    def discard(self):
        owners = self.owners()
        self.process.kill()
        self.process.wait()
        for pid in owners:
            if psutil.pid_exists(pid):
                os.kill(pid, signal.SIGKILL)
            until(lambda pid=pid: gone(pid))
        self.errors.close()


def ask(connection, path="/pid"):
    connection.request("GET", path)
    with connection.getresponse() as reply:
        assert reply.status == 200
        return json.loads(reply.read())


def gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
