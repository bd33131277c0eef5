"""`kg stop`: end the service of a folder, and nothing else.

A pid counts only together with its start time and this root; nothing is signalled that is not proven to be ours.
"""

import os
import signal
import time

from kg.limits import SERVICE_POLL_S, STOP_WAIT_S
from shim.root import server_of
from supervisor.health import is_same_process

DONE, PROBLEM = 0, 1


def stop(root: str) -> int:
    """Stop the service of this folder and wait until it is gone; prints what happened."""
    server = server_of(root)
    if server is None or server.root != root or not is_same_process(server.pid, server.started):
        print(f"kg: no service runs for {root}.")  # noqa: T201 - the command's answer
        return DONE
    os.kill(server.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_WAIT_S
    while is_same_process(server.pid, server.started):
        if time.monotonic() > deadline:
            print(f"kg: the service (pid {server.pid}) is still saving; it ends by itself.")  # noqa: T201
            return PROBLEM
        time.sleep(SERVICE_POLL_S)
    print("kg: stopped.")  # noqa: T201
    return DONE
