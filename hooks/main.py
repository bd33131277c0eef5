"""A client's hook in Python: `kg hook HARNESS EVENT`, and what `kg-hook` hands over when it is not plain sailing.

Reads stdin, posts it unchanged to /hooks/<harness>/<event>, prints the answer, acknowledges it. Whatever happens, it
ends with 0 within its time, says nothing on stderr, and prints nothing when anything went wrong: it stands between a
person and the answer to a prompt. The one exception is a service that cannot start: SessionStart tells the person why.
`--start` posts nothing and only has a missing service started.

As a program it runs as `python3 -I -S -E hooks/main.py`. The way through a running service imports C modules only;
the slow way is in `hooks/absent.py`.
"""

import posix
import select
import sys
from time import monotonic

if __name__ == "__main__":  # without site-packages this file finds its own packages: they stand in the folder above
    sys.path.insert(0, __file__.rpartition("/")[0].rpartition("/")[0] or "..")

from kg.limits import (
    ACK_ID_CHARS,
    HOOK_ANSWER_SPARE_S,
    HOOK_LIMIT_S,
    HOOK_SESSION_START_LIMIT_S,
    HOOK_STDIN_BYTES,
    READ_BYTES,
)
from shim.client import Response, request
from shim.identity import safe_value
from shim.root import RootError, server_of, storage_root

STDIN, STDOUT = 0, 1
OK = 200
SESSION_START = "SessionStart"
BESIDE = "--beside"
START = "--start"
WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
DELIVERY = WORD | frozenset(".:")


def main(argv: list[str]) -> int:
    """Run one hook, with `[--beside FOLDER] HARNESS EVENT` or `[--beside FOLDER] --start`; always 0."""
    try:
        if _variable("KG_HOOKS") != "off" and _variable("KG_CHORE") != "1":
            _run(list(argv))
    except Exception:  # noqa: BLE001 - a hook must never cost its client a turn
        return 0
    return 0


def _run(words: list[str]) -> None:
    folders = [sys.executable.rpartition("/")[0]]  # where the program kg is looked for before PATH
    if words[:1] == [BESIDE]:
        folders.insert(0, words[1])
        del words[:2]
    if words == [START]:
        from hooks import absent  # noqa: PLC0415 - it costs more than all the rest

        absent.start_behind(storage_root(), folders)
        return
    harness, event = words
    if harness == "auto":
        harness = _harness()
    if harness and WORD.issuperset(harness + event):
        _hook(harness, event, folders)


def _hook(harness: str, event: str, folders: list[str]) -> None:
    deadline = monotonic() + (HOOK_SESSION_START_LIMIT_S if event == SESSION_START else HOOK_LIMIT_S)
    payload = _stdin(deadline)
    if payload is None:
        return

    def deliver(root: str) -> bool:
        return _delivered(root, f"/hooks/{harness}/{event}", payload, deadline)

    try:
        root = storage_root()
    except RootError as error:
        if event == SESSION_START:
            _tell(harness, str(error))
        return
    if deliver(root):
        return
    from hooks import absent  # noqa: PLC0415 - it costs more than all the rest

    if event != SESSION_START:
        absent.start_behind(root, folders)
        return
    try:
        absent.start(root, folders, deadline)
    except absent.NotStarted as error:
        _tell(harness, str(error))
    else:
        deliver(root)


def _tell(harness: str, cause: str) -> None:
    from hooks import absent  # noqa: PLC0415 - it costs more than all the rest

    _write(absent.told(harness, cause))


def _harness() -> str:
    # Codex gives its plugin's folder under both names; a Codex started from a Claude Code shell still sees CLAUDECODE.
    if _variable("PLUGIN_ROOT") and _variable("PLUGIN_ROOT") == _variable("CLAUDE_PLUGIN_ROOT"):
        return "codex"
    if _variable("CLAUDECODE"):
        return "claude"
    return "codex" if _variable("CODEX_HOME") or _variable("PLUGIN_ROOT") else ""


def _stdin(deadline: float) -> bytes | None:
    """Return all of stdin; None when it does not end in time, or is more than the service would take."""
    poll = select.poll()
    poll.register(STDIN, select.POLLIN)
    parts: list[bytes] = []
    size = 0
    while size <= HOOK_STDIN_BYTES and poll.poll(max(0, int((deadline - monotonic()) * 1000))):
        data = posix.read(STDIN, READ_BYTES)
        if not data:
            return b"".join(parts)
        parts.append(data)
        size += len(data)
    return None


def _delivered(root: str, path: str, payload: bytes, deadline: float) -> bool:
    """Post, print, acknowledge. False when nobody listens; other faults end the hook."""
    server = server_of(root)
    if server is None or not _ours(server.socket):
        return False
    left_s = deadline - monotonic()
    headers = [
        ("Content-Type", "application/json"),
        ("Kg-Ack", "1"),
        ("Kg-Deadline-Ms", str(max(0, int((left_s - HOOK_ANSWER_SPARE_S) * 1000)))),
    ]
    if project := _variable("KG_PROJECT_ROOT"):
        headers.append(("Kg-Project-Root", safe_value(project)))
    try:
        response = request("POST", path, payload, headers, socket_path=server.socket, timeout_s=left_s)
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    if response.status == OK:
        _write(response.body)
        _acknowledge(response, server.socket, deadline)
    return True


def _ours(path: str) -> bool:
    # A socket in a folder under /tmp may be another user's since the service that announced it is gone.
    try:
        return posix.stat(path).st_uid == posix.geteuid()
    except OSError:
        return False


def _acknowledge(response: Response, socket_path: str, deadline: float) -> None:
    delivery = response.headers.get("kg-delivery", "")
    if not delivery or len(delivery) > ACK_ID_CHARS or not DELIVERY.issuperset(delivery):
        return
    body = f'{{"ids":["{delivery}"]}}'.encode()
    left_s = max(HOOK_ANSWER_SPARE_S, deadline - monotonic())
    headers = [("Content-Type", "application/json")]
    request("POST", "/deliveries/ack", body, headers, socket_path=socket_path, timeout_s=left_s)


def _write(data: bytes) -> None:
    while data:
        data = data[posix.write(STDOUT, data) :]


def _variable(name: str) -> str:
    return posix.environ.get(name.encode(), b"").decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    # Not through sys.exit: nothing is left to flush, and an interpreter that tidies up costs milliseconds.
    posix._exit(main(sys.argv[1:]))  # noqa: SLF001 - its public name needs `os`
