"""The program behind `kg mcp`: `python -I -S -E shim/main.py`.

Without site-packages and without the environment's Python settings, an interpreter starts in a third of the time and
imports nothing from the client's project. So this file finds its own packages: they stand in the folder above.

`--start-service` is for the shim itself: it starts the service in a child process, while the shim goes on polling.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0].rpartition("/")[0])
    if sys.argv[1:] == ["--start-service"]:
        from shim import starter

        sys.exit(starter.main())
    from shim import relay

    sys.exit(relay.main(sys.argv[1:], __file__))
