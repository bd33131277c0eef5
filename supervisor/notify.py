"""Words to systemd: READY=1 once the owner serves, STOPPING=1, WATCHDOG=1.

Theory of operation. gunicorn would report READY before the owner has loaded anything, so `take_notifier` takes the
address out of the environment before gunicorn sees it, and whoever knows better calls what it returns. The owner is not
the process that systemd started, so the unit needs NotifyAccess=all. Without systemd nothing is sent.
"""

import socket
from collections.abc import Callable, MutableMapping
from contextlib import suppress

Notify = Callable[[str], None]


def take_notifier(environ: MutableMapping[str, str]) -> Notify:
    """Return a function that sends one state, such as "READY=1"; it never fails. NOTIFY_SOCKET leaves `environ`."""
    address = environ.pop("NOTIFY_SOCKET", "")
    if address.startswith("@"):
        address = "\0" + address[1:]  # a name of Linux's own, without a file

    def notify(state: str) -> None:
        if address:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
                one.sendto(state.encode(), address)

    return notify
