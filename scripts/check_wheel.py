"""`make check`: builds the wheel and imports every module that it holds, from the wheel and not from this folder.

The checkout hides what a wheel forgets: here every file is there. So the wheel is unpacked elsewhere and imported by a
process that has this project's environment, but not this folder.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("kg", "supervisor", "web", "workers", "shim", "hooks")
FAILED, WRONG_USE = 1, 2
LIMIT_S = 120.0  # for the build, which may fetch its backend, and for the imports

# The environment knows the checkout, too: what came from there was not in the wheel.
IMPORT_ALL = """
import importlib, pathlib, sys
base = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(base))
names = sorted(
    ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__") for path in base.rglob("*.py")
)
for name in names:
    importlib.import_module(name)
ours = {name.partition(".")[0] for name in names} | set(sys.argv[2:])
for name, module in sorted(sys.modules.items()):
    if name.partition(".")[0] in ours and not pathlib.Path(module.__file__).is_relative_to(base):
        sys.exit(f"the wheel lacks {name}: it was imported from {module.__file__}")
print(f"wheel: {len(names)} modules import")
"""


def main() -> int:
    """Build, unpack, import; 1 with the tool's own words when a step fails."""
    try:
        (uv,) = sys.argv[1:]
    except ValueError:
        print("usage: check_wheel.py UV", file=sys.stderr)
        return WRONG_USE
    with tempfile.TemporaryDirectory(prefix="kg-wheel") as name:
        folder = Path(name).resolve()
        build = [uv, "build", "--wheel", "--quiet", "--out-dir", str(folder), str(ROOT)]
        if subprocess.run(build, cwd=ROOT, check=False, timeout=LIMIT_S).returncode:
            return FAILED
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extractall(folder / "unpacked")
        found = [sys.executable, "-I", "-c", IMPORT_ALL, str(folder / "unpacked"), *PACKAGES]
        return subprocess.run(found, cwd=folder, check=False, timeout=LIMIT_S).returncode


if __name__ == "__main__":
    sys.exit(main())
