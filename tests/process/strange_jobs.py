"""Jobs that behave as real ones never should."""

import os
import resource
import signal
import sys
import time
from pathlib import Path


def echo(payload):
    return payload


def raises(payload):
    raise ValueError(payload.decode())


def segv(_payload):
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def leave(payload):
    os._exit(int(payload))


def hang(payload):
    """Computes for ever; the payload names a file that says so."""
    Path(payload.decode()).write_text(str(os.getpid()), encoding="utf-8")
    while True:
        pass


def dies_without(payload):
    """Dies unless there is a file of this name."""
    return payload if Path(payload.decode()).exists() else segv(payload)


def deaf(payload):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return hang(payload)


def stop(_payload):
    os.kill(os.getpid(), signal.SIGSTOP)
    return b""


def rest(payload):
    time.sleep(float(payload))
    return payload


def memory(payload):
    return b"x" * int(payload)


def pid(_payload):
    return str(os.getpid()).encode()


def modules(_payload):
    return "\n".join(sys.modules).encode()


def confinement(_payload):
    limits = [resource.getrlimit(what)[0] for what in (resource.RLIMIT_AS, resource.RLIMIT_CORE, resource.RLIMIT_CPU)]
    interrupt = int(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)
    return ",".join(map(str, [*limits, os.nice(0), interrupt])).encode()


JOBS = {
    job.__name__: job
    for job in (echo, raises, segv, leave, hang, dies_without, deaf, stop, rest, memory, pid, modules, confinement)
}  # fmt: skip
