import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.files import (
    RealDisk,
    append_log,
    fingerprint,
    previous,
    sha256,
    temporary,
    write_durably,
)
from tests.fakes.disk import FlakyDisk

CODES = (errno.ENOSPC, errno.EIO, errno.EROFS)
OLDER, OLD, NEW = b'{"older": 1}\n', b'{"old": 2}\n', b'{"new": 3}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "user.json"
    file.write_bytes(OLD)
    previous(file).write_bytes(OLDER)
    return file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def recovered(path: Path) -> bytes:
    """What a start would find: the file, else its previous copy."""
    return path.read_bytes() if path.exists() else previous(path).read_bytes()


def test_the_new_content_takes_the_place_of_the_old_which_becomes_the_previous_copy(path):
    write_durably(RealDisk(), path, [NEW[:4], NEW[4:]], keep_previous=True)
    assert path.read_bytes() == NEW
    assert previous(path).read_bytes() == OLD
    assert not temporary(path).exists()


def test_a_file_that_does_not_parse_never_becomes_the_previous_copy(path):
    write_durably(RealDisk(), path, [NEW], keep_previous=False)
    assert path.read_bytes() == NEW
    assert previous(path).read_bytes() == OLDER


def test_a_missing_file_leaves_the_previous_copy_alone(path):
    path.unlink()
    write_durably(RealDisk(), path, [NEW], keep_previous=True)
    assert previous(path).read_bytes() == OLDER


def test_what_was_written_is_told_as_the_next_look_will_find_it(path):
    written = write_durably(RealDisk(), path, [b"x" * 700_000] * 4, keep_previous=True)
    assert written.fingerprint == fingerprint(path)
    assert written.sha256 == sha256(path)
    assert path.stat().st_size == 2_800_000


def test_an_edit_of_the_same_length_and_time_has_another_fingerprint_or_hash(path):
    before, hashed = fingerprint(path), sha256(path)
    times = path.stat()
    path.write_bytes(b"#" * len(OLD))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert fingerprint(path) == before
    assert sha256(path) != hashed
    other = path.with_name("other")
    other.write_bytes(OLD)
    other.replace(path)
    assert fingerprint(path) != before


def test_a_missing_file_has_no_fingerprint(tmp_path):
    assert fingerprint(tmp_path / "none") is None


def test_a_link_stays_a_link_and_its_target_gets_the_content(tmp_path):
    dotfiles, root = tmp_path / "dotfiles", tmp_path / "root"
    dotfiles.mkdir()
    root.mkdir()
    (dotfiles / "memory.json").write_bytes(OLD)
    link = root / "user.json"
    link.symlink_to("../dotfiles/memory.json")
    write_durably(RealDisk(), link, [NEW], keep_previous=True)
    assert link.is_symlink()
    assert (dotfiles / "memory.json").read_bytes() == NEW
    assert previous(link).read_bytes() == OLD
    assert sorted(entry.name for entry in dotfiles.iterdir()) == ["memory.json", "memory.prev"]
    assert [entry.name for entry in root.iterdir()] == ["user.json"]


def test_a_link_to_a_file_that_is_not_there_yet_stays_a_link(tmp_path):
    (tmp_path / "user.json").symlink_to(tmp_path / "target.json")
    write_durably(RealDisk(), tmp_path / "user.json", [NEW], keep_previous=True)
    assert (tmp_path / "user.json").is_symlink()
    assert (tmp_path / "target.json").read_bytes() == NEW


def test_a_temporary_name_that_was_made_a_link_is_not_written_through(path, tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    temporary(path).symlink_to(precious)
    with pytest.raises(OSError, match=r"user\.tmp"):
        write_durably(RealDisk(), path, [NEW], keep_previous=True)
    assert precious.read_bytes() == b"mine"
    assert path.read_bytes() == OLD
    write_durably(RealDisk(), path, [NEW], keep_previous=True)
    assert path.read_bytes() == NEW


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_files_belong_to_their_owner_alone_whatever_the_umask(tmp_path, umask):
    script = (
        "import os, sys; from pathlib import Path; from supervisor.files import *\n"
        f"os.umask({umask}); p = Path(sys.argv[1])\n"
        "write_durably(RealDisk(), p / 'user.json', [b'x'], keep_previous=True)\n"
        "(p / 'user.json').chmod(0o644)\n"
        "write_durably(RealDisk(), p / 'user.json', [b'y'], keep_previous=False)\n"
        "RealDisk().close(RealDisk().append(p / 'journal'))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, cwd=Path(__file__).parents[2])
    assert {mode(tmp_path / "user.json"), mode(tmp_path / "journal")} == {0o600}


def test_chunks_that_raise_leave_everything_as_it_was(path):
    def chunks():
        yield b"half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_durably(RealDisk(), path, chunks(), keep_previous=True)
    assert (path.read_bytes(), previous(path).read_bytes()) == (OLD, OLDER)
    assert not temporary(path).exists()


def steps_of_a_write(folder: Path) -> int:
    folder.mkdir()
    (folder / "user.json").write_bytes(OLD)
    disk = FlakyDisk()
    write_durably(disk, folder / "user.json", [NEW], keep_previous=True)
    return disk.count


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("lasting", [False, True])
def test_whichever_operation_fails_the_old_or_the_new_content_is_there_and_a_retry_succeeds(tmp_path, code, lasting):
    """A12."""
    steps = steps_of_a_write(tmp_path / "dry")
    assert steps == 6  # create, write, fsync, two renames, folder
    for step in range(1, steps + 1):
        path = tmp_path / f"{step}" / "user.json"
        path.parent.mkdir()
        path.write_bytes(OLD)
        previous(path).write_bytes(OLDER)
        disk = FlakyDisk(fail_at=step, code=code, lasting=lasting)
        with pytest.raises(OSError, match=os.strerror(code)):
            write_durably(disk, path, [NEW], keep_previous=True)
        assert recovered(path) == (NEW if step == steps else OLD)
        assert path.exists() or lasting, "one failing operation never takes the file away"
        disk.repair()
        write_durably(disk, path, [NEW], keep_previous=path.exists())
        disk.power_loss(path.parent)
        assert path.read_bytes() == NEW
        assert previous(path).read_bytes() in (OLD, NEW)


def test_a_power_cut_after_any_failure_leaves_the_old_or_the_new_content(tmp_path):
    """A12."""
    for step in range(1, steps_of_a_write(tmp_path / "dry") + 1):
        path = tmp_path / f"{step}" / "user.json"
        path.parent.mkdir()
        path.write_bytes(OLD)
        disk = FlakyDisk(fail_at=step, lasting=True)
        with pytest.raises(OSError, match="space"):
            write_durably(disk, path, [NEW], keep_previous=True)
        disk.power_loss(path.parent)
        assert recovered(path) in (OLD, NEW)


def test_a_write_torn_at_any_byte_leaves_the_old_content(tmp_path):
    """A12."""
    for torn in range(len(NEW)):
        path = tmp_path / f"{torn}" / "user.json"
        path.parent.mkdir()
        path.write_bytes(OLD)
        disk = FlakyDisk(fail_at=2, torn=torn, lasting=torn % 2 == 0)
        with pytest.raises(OSError, match="space"):
            write_durably(disk, path, [NEW], keep_previous=True)
        assert path.read_bytes() == OLD


def test_after_success_a_power_cut_takes_nothing_back(path):
    disk = FlakyDisk()
    write_durably(disk, path, [NEW], keep_previous=True)
    disk.power_loss(path.parent)
    assert path.read_bytes() == NEW
    assert previous(path).read_bytes() == OLD


def test_a_write_that_fails_gives_its_space_back(path):
    disk = FlakyDisk(fail_at=2, torn=3)
    with pytest.raises(OSError, match="space"):
        write_durably(disk, path, [NEW], keep_previous=True)
    assert not temporary(path).exists()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path


def test_log_lines_are_appended_and_end_themselves(logs):
    assert append_log(logs, "chores.jsonl", b'{"a": 1}', disk=RealDisk())
    assert append_log(logs, "chores.jsonl", b'{"a": 2}\n', disk=RealDisk())
    assert (logs / "log/chores.jsonl").read_bytes() == b'{"a": 1}\n{"a": 2}\n'
    assert mode(logs / "log/chores.jsonl") == 0o600


def test_a_full_log_becomes_the_one_previous_log(logs):
    log = logs / "log/useful.jsonl"
    line = b"x" * (1024 * 1024 - 1)
    for number in range(5):
        assert append_log(logs, "useful.jsonl", b"%d" % number + line[1:], disk=RealDisk())
    kept = log.with_name("useful.jsonl.prev").read_bytes() + log.read_bytes()
    assert [part[:1] for part in kept.splitlines()] == [b"2", b"3", b"4"]
    assert sorted(entry.name for entry in log.parent.iterdir()) == ["useful.jsonl", "useful.jsonl.prev"]


def test_a_log_that_fails_says_false_and_the_next_line_stands_alone(logs):
    append_log(logs, "recall.jsonl", b"one", disk=RealDisk())
    for step in (1, 2):
        disk = FlakyDisk(fail_at=step, torn=2)
        assert append_log(logs, "recall.jsonl", b"two", disk=disk) is False
    append_log(logs, "recall.jsonl", b"three", disk=RealDisk())
    assert (logs / "log/recall.jsonl").read_bytes() == b"one\nthree\n"


def test_a_log_without_its_folder_says_false(tmp_path):
    assert append_log(tmp_path, "server.log", b"x", disk=RealDisk()) is False
