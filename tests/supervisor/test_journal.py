import asyncio
import errno
import json
import logging
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from kg.errors import JournalDamaged, NotSaved
from supervisor.files import RealDisk
from supervisor.journal import Journal
from tests.fakes.disk import FlakyDisk
from tests.waiting import until

CODES = (errno.ENOSPC, errno.EIO, errno.EROFS)
DAY_S = 86_400
NEVER_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Noted:
    seq: int
    text: str


def decode(line: bytes) -> Noted:
    record = json.loads(line)
    if record.get("kind", "noted") != "noted":
        raise ValueError(f"unknown kind {record['kind']}")
    return Noted(record["seq"], record["text"])


def line(seq: int, text: str = "abc") -> bytes:
    return json.dumps({"seq": seq, "text": text}).encode()


def journal(folder: Path, disk=None, *, retry_s: float = NEVER_S, segment_bytes: int = 1_000_000) -> Journal[Noted]:
    return Journal(folder, disk=disk or RealDisk(), decode=decode, retry_s=retry_s, segment_bytes=segment_bytes)


def opened(folder: Path, disk=None, **options) -> Journal[Noted]:
    made = journal(folder, disk, **options)
    for _ in made.load():
        pass
    made.open_segment(made.last_seq + 1)
    return made


def seqs(folder: Path) -> list[int]:
    return [event.seq for event in journal(folder).load()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def segment(folder: Path, first: int, *lines: bytes) -> Path:
    path = folder / f"{first:012d}.jsonl"
    path.write_bytes(b"".join(each + b"\n" for each in lines))
    return path


async def put(made: Journal[Noted], seq: int, text: str = "abc") -> bool:
    """Append and wait; whether the event counts as saved."""
    made.append(seq, line(seq, text))
    try:
        await made.synced(seq)
    except NotSaved:
        return False
    return True


# --- the ordinary way ------------------------------------------------------------------------------------------------


def test_acknowledged_events_come_back_in_order(tmp_path):
    async def scenario():
        made = opened(tmp_path)
        assert all([await put(made, seq, f"text {seq}") for seq in range(1, 6)])
        assert (made.last_seq, made.synced_seq, made.unsaved_count, made.last_error) == (5, 5, 0, None)
        assert made.last_sync_ms > 0
        await made.close()

    asyncio.run(scenario())
    assert list(journal(tmp_path).load()) == [Noted(seq, f"text {seq}") for seq in range(1, 6)]
    assert list(journal(tmp_path).load(after=3)) == [Noted(4, "text 4"), Noted(5, "text 5")]


def test_an_acknowledged_event_is_on_disk_before_its_writer_hears_of_it_whatever_happens_next(tmp_path):
    """I1."""
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        assert await put(made, 1)
        disk.power_loss(tmp_path)
        disk.fail_next(lasting=True)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1]


def test_writers_that_come_together_share_one_sync(tmp_path):
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        before = disk.done.count("fsync")
        for seq in range(1, 101):
            made.append(seq, line(seq))
        await asyncio.gather(*(made.synced(seq) for seq in range(1, 101)))
        assert disk.done.count("fsync") == before + 1
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == list(range(1, 101))


def test_events_that_nobody_waits_for_reach_the_disk_by_themselves(tmp_path):
    async def scenario():
        made = opened(tmp_path)
        made.append(1, line(1))
        await asyncio.to_thread(until, lambda: made.synced_seq == 1)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1]


def test_closing_saves_what_was_appended_and_ends_the_thread(tmp_path):
    async def scenario():
        made = opened(tmp_path)
        made.append(1, line(1))
        await made.close()
        await made.close()
        assert made.unsaved_count == 0
        with pytest.raises(NotSaved, match="closed"):
            made.append(2, line(2))
        await made.synced(1)

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1]
    assert not [thread for thread in threading.enumerate() if thread.name == "kg-journal"]


def test_events_may_be_appended_before_there_is_a_loop(tmp_path):
    made = opened(tmp_path)
    made.append(1, line(1))

    async def scenario():
        await made.synced(1)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1]


def test_a_writer_that_gives_up_waiting_disturbs_nobody(tmp_path):
    async def scenario():
        made = opened(tmp_path)
        made.append(1, line(1))
        impatient = asyncio.ensure_future(made.synced(1))
        await asyncio.sleep(0)
        impatient.cancel()
        assert await put(made, 2)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1, 2]


@pytest.mark.parametrize(("seq", "text"), [(1, b"x"), (3, b"x"), (0, b"x"), (2, b"x\n"), (2, b"x\ny")])
def test_a_seq_out_of_turn_and_a_line_that_is_more_than_one_are_refused(tmp_path, seq, text):
    """I4."""

    async def scenario():
        made = opened(tmp_path)
        made.append(1, line(1))
        with pytest.raises(ValueError, match=r"seq|line"):
            made.append(seq, text)
        assert await put(made, 2)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1, 2]


# --- segments --------------------------------------------------------------------------------------------------------


def test_each_start_begins_a_segment_and_the_numbering_goes_on(tmp_path):
    """I4."""

    async def scenario(first):
        made = opened(tmp_path)
        assert made.last_seq == first - 1
        assert await put(made, first)
        assert await put(made, first + 1)
        await made.close()

    for first in (1, 3, 5):
        asyncio.run(scenario(first))
    assert names(tmp_path) == ["000000000001.jsonl", "000000000003.jsonl", "000000000005.jsonl"]
    assert seqs(tmp_path) == [1, 2, 3, 4, 5, 6]


def test_starts_without_events_leave_one_empty_segment(tmp_path):
    async def scenario():
        await opened(tmp_path).close()

    asyncio.run(scenario())
    asyncio.run(scenario())
    assert names(tmp_path) == ["000000000001.jsonl"]
    assert seqs(tmp_path) == []


def test_a_full_segment_is_followed_by_the_next(tmp_path):
    async def scenario():
        made = opened(tmp_path, segment_bytes=100)
        for seq in range(1, 8):
            assert await put(made, seq)
        assert made.segments == len(names(tmp_path)) == 3
        assert made.size_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
        assert made.first_seq == 1
        await made.close()

    asyncio.run(scenario())
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())
    assert seqs(tmp_path) == list(range(1, 8))


def test_without_kept_events_the_numbering_may_begin_anywhere(tmp_path):
    segment(tmp_path, 5)
    made = journal(tmp_path)
    assert list(made.load()) == []
    assert made.last_seq == 4

    async def scenario():
        made.open_segment(1_901)
        assert await put(made, 1_901)
        await made.close()

    asyncio.run(scenario())
    assert names(tmp_path) == ["000000001901.jsonl"]
    assert seqs(tmp_path) == [1_901]


def test_a_numbering_that_would_leave_a_gap_is_refused(tmp_path):
    segment(tmp_path, 1, line(1))
    made = journal(tmp_path)
    assert [event.seq for event in made.load()] == [1]
    with pytest.raises(JournalDamaged, match="seq 1,"):
        made.open_segment(9)


def test_a_segment_that_is_not_empty_is_never_begun_anew(tmp_path):
    path = segment(tmp_path, 1, line(1))
    with pytest.raises(FileExistsError):
        journal(tmp_path).open_segment(1)
    assert path.read_bytes() == line(1) + b"\n"


# --- loading ---------------------------------------------------------------------------------------------------------


def test_the_first_kept_segment_may_begin_anywhere_and_other_files_are_ignored(tmp_path):
    segment(tmp_path, 7, line(7), line(8))
    segment(tmp_path, 9, line(9))
    (tmp_path / "000000000001.jsonl.bak").write_bytes(b"x")
    (tmp_path / "notes.txt").write_bytes(b"x")
    made = journal(tmp_path)
    assert [event.seq for event in made.load()] == [7, 8, 9]
    assert (made.first_seq, made.last_seq, made.segments) == (7, 9, 2)


def test_an_empty_folder_has_no_history(tmp_path):
    made = journal(tmp_path)
    assert list(made.load()) == []
    assert (made.first_seq, made.last_seq) == (None, 0)


def test_segments_below_the_wanted_seq_are_not_opened(tmp_path):
    segment(tmp_path, 1, b"rubbish", b"rubbish")
    segment(tmp_path, 3, line(3), line(4))
    segment(tmp_path, 5, line(5))
    made = journal(tmp_path)
    assert [event.seq for event in made.load(after=3)] == [4, 5]
    assert (made.first_seq, made.last_seq) == (1, 5)


def test_a_last_line_torn_at_any_byte_is_cut_off_and_its_size_logged(tmp_path, caplog):
    """I2."""
    whole = line(3)
    for torn in range(1, len(whole) + 1):
        folder = tmp_path / f"{torn}"
        folder.mkdir()
        segment(folder, 1, line(1))
        path = segment(folder, 2, line(2))
        good = path.read_bytes()
        path.write_bytes(good + whole[:torn])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert seqs(folder) == [1, 2]
        assert f"{torn} bytes" in caplog.text
        assert path.read_bytes() == good


def test_a_last_line_of_zeros_is_torn_too(tmp_path):
    path = segment(tmp_path, 1, line(1), line(2))
    good = path.read_bytes()
    path.write_bytes(good + bytes(50))
    assert seqs(tmp_path) == [1, 2]
    path.write_bytes(good + line(3)[:4] + bytes(9) + b'"}\n')
    assert seqs(tmp_path) == [1, 2]
    assert path.read_bytes() == good


def test_a_segment_of_one_torn_line_is_empty_and_used_again(tmp_path):
    segment(tmp_path, 1, line(1))
    (tmp_path / "000000000002.jsonl").write_bytes(b'{"se')

    async def scenario():
        made = opened(tmp_path)
        assert await put(made, 2)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1, 2]


def test_the_cut_of_a_torn_line_survives_a_power_cut_before_the_next_segment_is_used(tmp_path):
    path = segment(tmp_path, 1, line(1))
    path.write_bytes(path.read_bytes() + b'{"seq": 2, "te')
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        assert await put(made, 2)
        disk.power_loss(tmp_path)
        disk.fail_next(lasting=True)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1, 2]


def test_a_torn_line_that_cannot_be_cut_off_stops_the_load(tmp_path):
    path = segment(tmp_path, 1, line(1))
    path.write_bytes(path.read_bytes() + b'{"seq"')
    before = path.read_bytes()
    disk = FlakyDisk(fail_at=2, code=errno.EROFS)
    with pytest.raises(OSError, match="Read-only"):
        list(journal(tmp_path, disk).load())
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("lines", "number", "cause"),
    [
        ([line(1), b"rubbish", line(3)], 2, "Expecting value"),
        ([line(1), b"", line(3)], 2, "Expecting value"),
        ([line(1), line(3)], 2, "seq 3 where 2"),
        ([line(1), line(1)], 2, "seq 1 where 2"),
        ([line(2)], 1, "seq 2 where 1"),
        ([line(1), b'{"seq": 2, "kind": "sung"}'], 2, "unknown kind sung"),
        ([line(1), line(2)[:-1] + b"\0}", line(3)], 2, ""),
        ([line(1), b"\xff\xfe", line(3)], 2, ""),
    ],
)
def test_damage_names_file_line_and_cause_and_changes_nothing(tmp_path, lines, number, cause):
    path = segment(tmp_path, 1, *lines)
    before = path.read_bytes()
    with pytest.raises(JournalDamaged) as damage:
        seqs(tmp_path)
    assert (damage.value.path, damage.value.line) == (str(path), number)
    assert cause in damage.value.cause
    assert path.read_bytes() == before


@pytest.mark.parametrize("second", [2, 4])
def test_a_gap_or_an_overlap_between_segments_is_damage(tmp_path, second):
    segment(tmp_path, 1, line(1), line(2))
    path = segment(tmp_path, second, line(second))
    with pytest.raises(JournalDamaged, match="seq 3 should come next") as damage:
        seqs(tmp_path)
    assert damage.value.path == str(path)


def test_a_torn_line_in_an_older_segment_is_damage(tmp_path):
    path = segment(tmp_path, 1, line(1))
    path.write_bytes(path.read_bytes() + b'{"se')
    segment(tmp_path, 2, line(2))
    with pytest.raises(JournalDamaged) as damage:
        seqs(tmp_path)
    assert (damage.value.path, damage.value.line) == (str(path), 2)


def test_a_segment_that_cannot_be_read_is_damage(tmp_path):
    (tmp_path / "000000000001.jsonl").mkdir()
    with pytest.raises(JournalDamaged, match="cannot be read"):
        seqs(tmp_path)


# --- a disk that fails -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["write", "fsync"])
@pytest.mark.parametrize("code", CODES)
def test_a_failed_event_is_not_saved_stays_counted_and_goes_out_with_the_next_one(tmp_path, kind, code):
    """F2."""
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        assert await put(made, 1)
        disk.fail_next(code=code, torn=7, after=0 if kind == "write" else 1)
        made.append(2, line(2))
        with pytest.raises(NotSaved, match="kept in memory"):
            await made.synced(2)
        assert (made.unsaved_count, made.synced_seq) == (1, 1)
        assert "000000000001.jsonl" in made.last_error
        assert seqs(tmp_path) == [1]
        assert await put(made, 3)
        assert (made.unsaved_count, made.last_error) == (0, None)
        await made.synced(2)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1, 2, 3]


def test_a_failed_event_is_retried_without_anybody_asking(tmp_path):
    """F2."""
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk, retry_s=0.01)
        disk.fail_next(code=errno.ENOSPC, lasting=True)
        assert not await put(made, 1)
        tried = disk.count
        await asyncio.to_thread(until, lambda: disk.count > tried + 4)
        assert made.unsaved_count == 1
        disk.repair()
        await asyncio.to_thread(until, lambda: made.synced_seq == 1)
        assert made.unsaved_count == 0
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1]


def test_a_failed_event_is_retried_at_the_stop(tmp_path):
    """F2."""
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        disk.fail_next(lasting=True)
        assert not await put(made, 1)
        assert not await put(made, 2)
        disk.repair()
        await made.close()
        assert made.unsaved_count == 0

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1, 2]


def test_a_stop_that_cannot_save_says_how_much_is_left(tmp_path):
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        assert await put(made, 1)
        disk.fail_next(lasting=True)
        assert not await put(made, 2)
        await made.close()
        assert (made.unsaved_count, made.synced_seq) == (1, 1)

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1]


def test_asking_again_for_a_failed_event_tries_again(tmp_path):
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        disk.fail_next()
        assert not await put(made, 1)
        await made.synced(1)
        assert made.unsaved_count == 0
        await made.close()

    asyncio.run(scenario())


def test_every_waiter_of_a_failed_group_hears_of_it(tmp_path):
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        disk.fail_next(code=errno.EROFS)
        for seq in range(1, 5):
            made.append(seq, line(seq))
        results = await asyncio.gather(*(made.synced(seq) for seq in range(1, 5)), return_exceptions=True)
        assert [type(result) for result in results] == [NotSaved] * 4
        assert made.unsaved_count == 4
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1, 2, 3, 4]


def test_after_a_failed_sync_the_bytes_go_to_another_file(tmp_path):
    """H26: the kernel calls the next sync of the same pages a success although they are gone."""
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        assert await put(made, 1)
        disk.fail_next(after=1)
        assert not await put(made, 2)
        assert await put(made, 3)
        disk.power_loss(tmp_path)
        disk.fail_next(lasting=True)
        await made.close()

    asyncio.run(scenario())
    assert names(tmp_path) == ["000000000001.jsonl", "000000000002.jsonl"]
    assert seqs(tmp_path) == [1, 2, 3]


def test_a_failed_sync_of_the_very_first_event_begins_its_file_anew(tmp_path):
    """H26."""
    disk = FlakyDisk()

    async def scenario():
        made = opened(tmp_path, disk)
        before = (tmp_path / "000000000001.jsonl").stat().st_ino
        keep = (tmp_path / "000000000001.jsonl").open("rb")  # so that the number is not given away again
        disk.fail_next(after=1)
        assert not await put(made, 1)
        assert await put(made, 2)
        assert (tmp_path / "000000000001.jsonl").stat().st_ino != before
        keep.close()
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1, 2]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_in_the_committer_lets_nobody_wait_for_ever(tmp_path):
    class BrokenDisk(RealDisk):
        def write(self, fd, data):
            raise ZeroDivisionError

    async def scenario():
        made = opened(tmp_path, BrokenDisk())
        assert not await asyncio.wait_for(put(made, 1), 10)
        await asyncio.to_thread(until, lambda: made._ended)
        with pytest.raises(NotSaved):
            await made.synced(1)
        with pytest.raises(NotSaved):
            made.append(2, line(2))
        await made.close()

    asyncio.run(scenario())


async def run_of_writes(folder: Path, disk: FlakyDisk, *, events: int = 5) -> list[int]:
    """Start, write some events one by one over two segments, stop; returns what was acknowledged."""
    made = opened(folder, disk, segment_bytes=100)
    saved = [seq for seq in range(1, events + 1) if await put(made, seq)]
    await made.close()
    return saved


def loaded(folder: Path, acknowledged: list[int], events: int = 5) -> list[int]:
    """Load twice, and check that what comes back is an unbroken beginning with everything acknowledged in it."""
    got = seqs(folder)
    assert got == list(range(1, len(got) + 1))
    assert len(got) <= events
    assert set(acknowledged) <= set(got)
    assert seqs(folder) == got
    return got


@pytest.fixture(scope="module")
def steps(tmp_path_factory) -> int:
    disk = FlakyDisk()
    asyncio.run(run_of_writes(tmp_path_factory.mktemp("dry"), disk))
    assert disk.done.count("append") >= 2
    return disk.count


OPENING = 2  # operations of open_segment: its failure stops the start


@pytest.mark.parametrize("arrived", [False, True])
@pytest.mark.parametrize("code", CODES)
def test_whichever_operation_fails_once_all_events_are_on_disk_after_the_stop(tmp_path, steps, code, arrived):
    """A12, I1, I4."""
    for step in range(OPENING + 1, steps + 1):
        folder = tmp_path / f"{step}"
        folder.mkdir()
        disk = FlakyDisk(fail_at=step, code=code, torn=step * 5 % 30)
        saved = asyncio.run(run_of_writes(folder, disk))
        assert len(saved) == 4, "one event fails, the others are saved"
        disk.power_loss(folder, arrived=arrived)
        assert loaded(folder, saved) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("power_loss", ["none", "lost", "arrived"])
def test_whenever_the_disk_dies_every_acknowledged_event_comes_back(tmp_path, steps, power_loss):
    """A12, I1, I2."""
    for step in range(OPENING + 1, steps + 1):
        folder = tmp_path / f"{step}"
        folder.mkdir()
        disk = FlakyDisk(fail_at=step, torn=step * 7 % 30, lasting=True)
        saved = asyncio.run(run_of_writes(folder, disk))
        if power_loss != "none":
            disk.power_loss(folder, arrived=power_loss == "arrived")
        loaded(folder, saved)
        asyncio.run(run_on(folder))


async def run_on(folder: Path) -> None:
    made = opened(folder)
    first = made.last_seq + 1
    assert await put(made, first)
    await made.close()
    assert seqs(folder) == list(range(1, first + 1))


@pytest.mark.parametrize("arrived", [False, True])
def test_two_failures_in_a_row_anywhere_lose_nothing(tmp_path, steps, arrived):
    """A12: the second one hits the repair after the first."""
    for step in range(OPENING + 1, steps + 1):
        for distance in (1, 2, 3):
            folder = tmp_path / f"{step}-{distance}"
            folder.mkdir()
            disk = FlakyDisk(fail_at=step, torn=9)

            async def scenario(folder=folder, disk=disk, distance=distance):
                made = opened(folder, disk, segment_bytes=100)
                saved = []
                failed = False
                for seq in range(1, 6):
                    done = await put(made, seq)
                    if done:
                        saved.append(seq)
                    elif not failed:
                        failed = True
                        disk.fail_next(torn=3, after=distance - 1)
                await made.close()
                return saved

            saved = asyncio.run(scenario())
            disk.power_loss(folder, arrived=arrived)
            got = loaded(folder, saved)
            assert len(saved) >= 2
            assert len(got) >= 4


def test_a_write_torn_at_any_byte_loses_nothing_acknowledged(tmp_path):
    """A12."""
    whole = len(line(2)) + 1
    for torn in range(whole + 1):
        for lasting in (False, True):
            folder = tmp_path / f"{torn}-{lasting}"
            folder.mkdir()
            disk = FlakyDisk()

            async def scenario(folder=folder, disk=disk, torn=torn, lasting=lasting):
                made = opened(folder, disk)
                assert await put(made, 1)
                disk.fail_next(torn=torn, lasting=lasting)
                assert not await put(made, 2)
                await made.close()

            asyncio.run(scenario())
            # On a disk that stays dead, an event of which every byte arrived may come back: it was refused, not undone.
            assert seqs(folder) == ([1] if lasting and torn < whole else [1, 2])


@pytest.mark.parametrize("step", range(1, OPENING + 1))
def test_a_segment_that_cannot_be_begun_stops_the_start_and_a_later_one_succeeds(tmp_path, step):
    with pytest.raises(OSError, match="space"):
        opened(tmp_path, FlakyDisk(fail_at=step))

    async def scenario():
        made = opened(tmp_path)
        assert await put(made, 1)
        await made.close()

    asyncio.run(scenario())
    assert seqs(tmp_path) == [1]


# --- keeping history -------------------------------------------------------------------------------------------------


async def three_segments(folder: Path, disk=None) -> Journal[Noted]:
    segment(folder, 1, line(1), line(2))
    segment(folder, 3, line(3), line(4))
    return opened(folder, disk)


def dropped(folder: Path, *, checkpoint_seq: int, age_days: float, mib: float = 64, disk=None) -> list[str]:
    async def scenario():
        made = await three_segments(folder, disk)
        now = (folder / "000000000001.jsonl").stat().st_mtime + age_days * DAY_S
        number = made.drop_old(checkpoint_seq, now, days=30, mib=mib)
        assert number == 3 - len(names(folder)) == 3 - made.segments
        await made.close()
        return names(folder)

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("checkpoint_seq", "age_days", "mib", "left"),
    [
        (4, 31, 64, 1),
        (3, 31, 64, 2),
        (1, 31, 64, 3),
        (4, 29, 64, 3),
        (4, 29, 0, 1),
        (4, 29, 0.00005, 2),
        (0, 31, 0, 3),
        (4, -400, 64, 3),
    ],
)
def test_only_old_or_surplus_segments_below_every_checkpoint_go_oldest_first(
    tmp_path, checkpoint_seq, age_days, mib, left
):
    kept = dropped(tmp_path, checkpoint_seq=checkpoint_seq, age_days=age_days, mib=mib)
    assert kept == ["000000000001.jsonl", "000000000003.jsonl", "000000000005.jsonl"][3 - left :]
    made = journal(tmp_path)
    assert [event.seq for event in made.load()] == [1, 2, 3, 4][2 * (3 - left) :]
    assert made.last_seq == 4


def test_a_segment_that_cannot_be_removed_stays_counted_and_so_do_the_younger_ones(tmp_path):
    disk = FlakyDisk(fail_at=3)  # after the two operations of open_segment
    assert len(dropped(tmp_path, checkpoint_seq=4, age_days=31, disk=disk)) == 3
    assert seqs(tmp_path) == [1, 2, 3, 4]
