"""The `kg-mcp` script: becomes the shim's own, small interpreter.

An installed script runs with site-packages, which costs a client time at each start and memory for its whole life. So
it is replaced by `python -I -S -E shim/main.py`, under the same process id; where that is not possible it goes on here.
"""

import os
import sys

from shim import relay

MAIN_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "main.py")  # noqa: PTH100, PTH118, PTH120 - pathlib doubles the start


def main() -> None:
    """Run the shim with this process's arguments."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Become the shim; return its exit code only where the process could not be replaced."""
    try:
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-E", MAIN_FILE, *arguments])  # noqa: S606 - no shell wanted
    except OSError:
        return relay.main(arguments, MAIN_FILE)
