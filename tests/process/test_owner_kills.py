"""kill -9 at any moment: nothing acknowledged is lost, nothing is applied twice (I1, I2, I4, I5, I26, A7)."""

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.serving import Service, scratch_service
from tests.shim_client import ShimClient
from tests.waiting import until

KILLS = int(os.environ.get("KG_KILLS", "25"))
WRITERS = 8


class Writer(threading.Thread):
    """A client that writes through a real shim as fast as it is answered, each node once."""

    def __init__(self, service: Service, number: int) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.acknowledged: list[str] = []
        self.errors: list[str] = []
        self.stopping = threading.Event()
        self._service = service

    def run(self) -> None:
        with ShimClient(self._service) as shim:
            sid = shim.session()
            count = 0
            while not self.stopping.is_set():
                node = f"w{self.number}-{count}"
                answer = shim.ask("kg_put_node", session_id=sid, level="user", id=node, gist=f"claim {node}")
                if "error" in answer or answer["result"]["isError"]:
                    self.errors.append(json.dumps(answer))
                    return
                self.acknowledged.append(node)
                count += 1


def creations(service: Service) -> Counter[str]:
    """How often each node was created, by the log."""
    return Counter(event["id"] for event in service.journal() if event["kind"] == "node_put" and event["was"] is None)


@pytest.mark.timeout(300)
def test_an_owner_that_is_killed_again_and_again_loses_and_doubles_nothing():
    chance = random.Random(7)  # noqa: S311 - moments, not secrets
    with scratch_service() as service:
        service.start()
        writers = [Writer(service, number) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        for _ in range(KILLS):
            before = sum(len(writer.acknowledged) for writer in writers)
            pause = threading.Event()
            pause.wait(chance.uniform(0.0, 0.3))  # the moment is what is random here, not a wait for anything
            killed = service.kill_owner()
            until(lambda killed=killed: service.owner_pid != killed)
            until(lambda before=before: sum(len(writer.acknowledged) for writer in writers) > before, within_s=20)
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join(30)
        assert [writer.errors for writer in writers] == [[]] * WRITERS
        acknowledged = {node for writer in writers for node in writer.acknowledged}
        assert len(acknowledged) > KILLS
        service.stop()
        made = creations(service)
        stored = json.loads((service.root / "user.json").read_text(encoding="utf-8"))["nodes"]
        assert acknowledged <= made.keys()
        assert acknowledged <= stored.keys()
        assert {node: count for node, count in made.items() if count > 1} == {}
        assert [event["seq"] for event in service.journal()] == list(range(1, len(service.journal()) + 1))
        assert len(list(service.root.rglob("*.tmp"))) <= 1
        print(f"kills {KILLS}, acknowledged {len(acknowledged)}, lost 0, doubled 0")


def test_a_killed_supervisor_is_followed_by_a_new_one_and_two_owners_never_hold_the_state():
    with scratch_service() as service:
        service.start()
        sid = service.session()
        service.text("kg_put_node", session_id=sid, level="user", id="before", gist="kept")
        orphan = service.owner_pid
        assert service.process is not None
        os.kill(service.process.pid, signal.SIGKILL)
        service.process.wait()
        began = time.monotonic()
        service.start(within_s=10)
        print(f"taken over after {time.monotonic() - began:.2f} s")
        assert service.owner_pid != orphan
        assert "kept" in service.text("kg_read", session_id=sid, id="before")
        service.text("kg_put_node", session_id=sid, level="user", id="after", gist="kept too")
        seqs = [event["seq"] for event in service.journal()]
        assert seqs == list(range(1, len(seqs) + 1))  # two owners would have given one number twice
        firsts = sorted(int(path.stem) for path in (service.root / "journal").glob("*.jsonl"))
        assert len(firsts) == len(set(firsts)) == 2  # one segment per owner, one after the other


def test_a_second_service_names_the_first_and_leaves_its_socket_alone(service):
    inode = Path(service.socket).stat().st_ino
    with scratch_service() as second:
        second.root = service.root
        second.env["KG_STORAGE"] = str(service.root)
        process = second.spawn()
        assert process.wait(10) == 3
        assert f"pid {service.process.pid}" in second.log()
    assert Path(service.socket).stat().st_ino == inode
    assert service.health()["status"] == "ok"


def test_a_reload_under_load_refuses_nobody(service):
    """HUP forks the next owner first; requests wait in the backlog meanwhile."""
    with ShimClient(service) as shim:
        sid = shim.session()
        for number in range(120):
            if number in {30, 60, 90}:
                before = service.owner_pid
                service.process.send_signal(signal.SIGHUP)
            answer = shim.ask("kg_put_node", session_id=sid, level="user", id=f"n-{number}", gist="claim")
            assert not answer["result"]["isError"], answer
            if number in {31, 61, 91}:
                until(lambda before=before: service.owner_pid != before, within_s=15)
    assert len(creations(service)) == 120
