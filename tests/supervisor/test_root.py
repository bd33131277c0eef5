import errno
import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from shim.root import RootError
from supervisor.files import RealDisk
from supervisor.root import FOLDERS, load_token, prepare_root, socket_path
from tests.fakes.disk import FlakyDisk

BLOCK = b"run/\nlog/\nlocks/\njournal/\n*.prev\n*.tmp\n*.sock\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def prepared(root: Path) -> Path:
    prepare_root(root, disk=RealDisk())
    return root


def test_the_tree_is_made_with_its_parents_for_the_owner_alone_whatever_the_umask(tmp_path):
    root = tmp_path / "my mem" / "ü" / "kg"
    script = (
        "import os, sys; from pathlib import Path; from supervisor.files import RealDisk\n"
        "from supervisor.root import prepare_root\n"
        "os.umask(0); prepare_root(Path(sys.argv[1]), disk=RealDisk())\n"
    )
    subprocess.run([sys.executable, "-c", script, str(root)], check=True, cwd=Path(__file__).parents[2])
    folders = [root.parent.parent, root.parent, root, *(root / name for name in FOLDERS)]
    assert {mode(folder) for folder in folders} == {0o700}
    assert mode(root / ".gitignore") == 0o600


def test_a_second_preparation_changes_nothing(tmp_path):
    root = prepared(tmp_path / "kg")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    prepared(root)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_an_open_root_of_kg_is_closed(tmp_path):
    root = prepared(tmp_path / "kg")
    root.chmod(0o755)
    assert mode(prepared(root)) == 0o700


def test_a_folder_that_holds_other_things_keeps_its_mode_and_kgs_own_are_closed(tmp_path):
    (tmp_path / "shared.txt").write_text("", encoding="utf-8")
    tmp_path.chmod(0o755)
    prepared(tmp_path)
    assert mode(tmp_path) == 0o755
    assert mode(tmp_path / "journal") == 0o700


def test_a_root_that_is_a_link_stays_one(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    prepared(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real/journal").is_dir()


def test_the_ignore_block_is_added_below_the_lines_of_others(tmp_path):
    (tmp_path / ".gitignore").write_bytes(b"mine\r\n\xff\n*.bak")
    prepared(tmp_path)
    text = (tmp_path / ".gitignore").read_bytes()
    assert text.startswith(b"mine\r\n\xff\n*.bak\n# kg begin")
    assert BLOCK in text


def test_a_changed_ignore_block_is_put_right_and_other_lines_stay(tmp_path):
    prepared(tmp_path)
    path = tmp_path / ".gitignore"
    right = path.read_bytes()
    path.write_bytes(b"before\n" + right.replace(b"run/\n", b"") + b"after\n")
    prepared(tmp_path)
    assert path.read_bytes() == b"before\n" + right + b"after\n"


def test_an_ignore_file_that_is_a_link_stays_one(tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"mine\n")
    root = tmp_path / "kg"
    root.mkdir()
    (root / ".gitignore").symlink_to("../elsewhere")
    prepared(root)
    assert (root / ".gitignore").is_symlink()
    assert BLOCK in (tmp_path / "elsewhere").read_bytes()


def test_a_relative_root_is_refused_with_the_absolute_one_to_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RootError, match="KG_STORAGE") as refused:
        prepare_root(Path("mem"), disk=RealDisk())
    assert str(tmp_path / "mem") in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["", "a", "a/b"])
def test_a_root_that_leads_to_a_file_is_refused_with_that_file(tmp_path, below):
    file = tmp_path / "plain"
    file.write_bytes(b"x")
    with pytest.raises(RootError, match="KG_STORAGE") as refused:
        prepare_root(file / below, disk=RealDisk())
    assert f"{file}: not a folder" in str(refused.value)
    assert file.read_bytes() == b"x"


def test_a_file_where_a_folder_of_kg_belongs_is_refused_and_kept(tmp_path):
    (tmp_path / "journal").write_bytes(b"x")
    with pytest.raises(RootError, match="journal: not a folder"):
        prepare_root(tmp_path, disk=RealDisk())
    assert (tmp_path / "journal").read_bytes() == b"x"


def test_a_root_that_is_a_link_to_nowhere_is_refused(tmp_path):
    (tmp_path / "kg").symlink_to("gone")
    with pytest.raises(RootError, match="leads nowhere"):
        prepare_root(tmp_path / "kg", disk=RealDisk())


@pytest.mark.skipif(os.getuid() == 0, reason="the superuser may write everywhere")
def test_a_root_without_the_right_to_write_is_refused(tmp_path):
    root = tmp_path / "kg"
    root.mkdir(mode=0o500)
    with pytest.raises(RootError, match="no right to write"):
        prepare_root(root, disk=RealDisk())


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_each_operation_that_fails_while_the_tree_is_made_is_told_with_path_and_cause(tmp_path, code):
    """A12."""
    dry = FlakyDisk()
    prepare_root(tmp_path / "dry" / "kg", disk=dry)
    for step in range(1, dry.count + 1):
        root = tmp_path / f"{step}" / "kg"
        disk = FlakyDisk(fail_at=step, code=code)
        with pytest.raises(RootError, match="KG_STORAGE") as refused:
            prepare_root(root, disk=disk)
        assert str(root) in str(refused.value)
        assert os.strerror(code) in str(refused.value)
        prepare_root(root, disk=disk)
        assert BLOCK in (root / ".gitignore").read_bytes()


def test_the_token_is_made_once_with_256_bits_for_the_owner_alone(tmp_path):
    root = prepared(tmp_path / "kg")
    token = load_token(root, disk=RealDisk())
    assert len(bytes.fromhex(token)) == 32
    assert load_token(root, disk=RealDisk()) == token
    assert mode(root / "run/token") == 0o600
    assert load_token(prepared(tmp_path / "other"), disk=RealDisk()) != token


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 64])
def test_a_torn_token_is_replaced(tmp_path, content):
    root = prepared(tmp_path / "kg")
    (root / "run/token").write_bytes(content)
    (root / "run/token").chmod(0o600)
    assert len(load_token(root, disk=RealDisk())) == 64


def test_a_token_that_others_could_read_is_replaced(tmp_path):
    root = prepared(tmp_path / "kg")
    token = load_token(root, disk=RealDisk())
    (root / "run/token").chmod(0o640)
    assert load_token(root, disk=RealDisk()) != token
    assert mode(root / "run/token") == 0o600


def test_the_socket_lies_in_the_runtime_folder_under_a_hash_of_the_real_root(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    name = hashlib.sha256(bytes(tmp_path)).hexdigest()[:8] + ".sock"
    assert socket_path(tmp_path, runtime_dir="/run/user/7") == Path("/run/user/7/kg", name)
    assert socket_path(tmp_path / "link", runtime_dir="/run/user/7") == Path("/run/user/7/kg", name)
    assert socket_path(tmp_path / "other", runtime_dir="/run/user/7").name != name


@pytest.mark.parametrize("runtime_dir", [None, "", "relative", "/" + "x" * 83, "/" + "ü" * 42])
def test_without_a_usable_runtime_folder_the_socket_lies_in_tmp(tmp_path, runtime_dir):
    path = socket_path(tmp_path, runtime_dir=runtime_dir)
    assert path.parent == Path(f"/tmp/kg-{os.getuid()}")  # noqa: S108


def test_a_socket_path_of_a_hundred_bytes_is_still_used(tmp_path):
    path = socket_path(tmp_path, runtime_dir="/" + "x" * 82)
    assert len(bytes(path)) == 100
