"""The `kg` command. It knows which command is meant before it imports anything that takes time."""

import sys
from collections.abc import Callable, Mapping, Sequence

DONE, PROBLEM, WRONG_USE, UNREACHABLE = 0, 1, 2, 5  # exit codes, see spec/operations.md section 1

USAGE = """\
usage: kg [--storage DIR] COMMAND

  serve [--port N] [--socket PATH] [--foreground-log]   the service, in the foreground
  start | stop                                          the service, in the background
  status [--json]                                       what runs, and whether it is well
  explain ID [--graph KEY] [--json]                     why a node is in view or not
  mcp                                                   the stdio shim, started by a client
  hook HARNESS EVENT                                    a client's hook: stdin in, answer out
  version                                               the version
"""


def main() -> None:
    """Run the command of this process's arguments."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    words = list(arguments)
    if words[:1] == ["--storage"] and len(words) > 1:
        import os

        os.environ["KG_STORAGE"] = os.path.abspath(os.path.expanduser(words[1]))  # noqa: PTH100, PTH111 - no pathlib for the shim
        words = words[2:]
    if not words or words[0] in {"help", "--help", "-h"}:
        print(USAGE, end="")
        return DONE if words else WRONG_USE
    command = COMMANDS.get(words[0])
    if command is None:
        return _unknown(words[0])
    try:
        return command(words[1:])
    except KeyboardInterrupt:
        return PROBLEM
    except BrokenPipeError:
        return DONE


def _unknown(word: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, n=1)
    hint = f" Did you mean kg {near[0]}?" if near else ""
    print(f"kg: {word!r} is no command.{hint} kg help lists them.", file=sys.stderr)
    return WRONG_USE


def _wrong(text: str) -> int:
    print(f"kg: {text}", file=sys.stderr)
    return WRONG_USE


# --- commands that start fast --------------------------------------------------------------------------------------


def _mcp(words: Sequence[str]) -> int:
    from shim.launch import run as run_shim

    return run_shim(list(words))


def _hook(words: Sequence[str]) -> int:
    from hooks.main import main as run_hook

    return run_hook(list(words))


# --- commands about the service ------------------------------------------------------------------------------------


def _serve(words: Sequence[str]) -> int:
    import argparse
    from pathlib import Path

    from shim.root import RootError, storage_root
    from supervisor.serve import serve

    parser = argparse.ArgumentParser(prog="kg serve", description="Run the service in the foreground.")
    parser.add_argument("--port", help="TCP port on the loopback, 0 for any free one, off for none")
    parser.add_argument("--socket", help="path of the Unix socket")
    parser.add_argument("--foreground-log", action="store_true", help="log to standard error")
    options = parser.parse_args(words)
    try:
        root = Path(storage_root())
    except RootError as error:
        return _problem(str(error))
    return serve(root, port=options.port, socket=options.socket, log_to_terminal=options.foreground_log)


def _start(words: Sequence[str]) -> int:
    from shim.root import RootError, server_of, storage_root
    from shim.starter import StartFailed, answering, ensure

    if words:
        return _wrong("start takes no arguments")
    try:
        root = storage_root()
        if answering(root):
            print(f"kg is already running (pid {_pid(server_of(root))}).")
            return DONE
        ensure(root, again=True)
    except (RootError, StartFailed) as error:
        return _problem(str(error))
    print(f"kg is running (pid {_pid(server_of(root))}), storage {root}.")
    return DONE


def _pid(server: object) -> object:
    return getattr(server, "pid", "unknown")


def _stop(words: Sequence[str]) -> int:
    from shim.root import RootError, storage_root
    from supervisor.stopping import stop

    if words:
        return _wrong("stop takes no arguments")
    try:
        return stop(storage_root())
    except RootError as error:
        return _problem(str(error))


def _status(words: Sequence[str]) -> int:
    from shim.root import RootError, storage_root
    from supervisor.status import show

    if set(words) - {"--json"}:
        return _wrong("status takes --json only")
    try:
        return show(storage_root(), as_json="--json" in words)
    except RootError as error:
        return _problem(str(error))


def _explain(words: Sequence[str]) -> int:
    from shim.root import RootError, storage_root
    from supervisor.explaining import explain

    try:
        return explain(storage_root(), words)
    except RootError as error:
        return _problem(str(error))


def _version(words: Sequence[str]) -> int:
    from supervisor import __version__

    if words:
        return _wrong("version takes no arguments")
    print(f"kg {__version__}")
    return DONE


def _problem(text: str) -> int:
    print(f"kg: {text}", file=sys.stderr)
    return PROBLEM


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "serve": _serve,
    "start": _start,
    "stop": _stop,
    "status": _status,
    "explain": _explain,
    "mcp": _mcp,
    "hook": _hook,
    "version": _version,
}

if __name__ == "__main__":
    main()
