"""The real file system, segments and rows of them, and the table of queues."""

from __future__ import annotations

import errno
import gc
import mmap
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.segment import Segment, file_name
from rocketwire.store.disk.segments import Segments
from rocketwire.store.errors import DiskFull
from rocketwire.store.log.checkpoint import Checkpoint
from rocketwire.store.queues.queues import QueueTable
from tests.store.crash_disk import CrashDisk, refusal
from tests.store.support import bodies, descriptors, draft, open_store, small

FILES = FileSystem()


def test_clear_zeroes_data_and_keeps_holes(tmp_path: Path) -> None:
    path = tmp_path / "f"
    fd = FILES.create(str(path), 4 << 20)
    os.pwrite(fd, b"x" * 10_000, 0)
    os.pwrite(fd, b"y" * 10_000, 2 << 20)
    FILES.clear(fd, 5000, (4 << 20) - 5000)
    data = path.read_bytes()
    assert data[:5000] == b"x" * 5000
    assert data[5000:].count(0) == len(data) - 5000
    assert path.stat().st_blocks * 512 < 1 << 20
    FILES.clear(fd, 1 << 20, 10)
    FILES.close(fd)


def test_a_range_of_holes_is_clear(tmp_path: Path) -> None:
    fd = FILES.create(str(tmp_path / "f"), 1 << 20)
    FILES.clear(fd, 0, 1 << 20)
    assert os.fstat(fd).st_blocks == 0
    FILES.close(fd)


def test_replace_keeps_who_may_read(tmp_path: Path) -> None:
    path = tmp_path / "secrets"
    path.write_bytes(b"one")
    path.chmod(0o600)
    (tmp_path / "secrets.tmp").write_bytes(b"left over")
    FILES.replace(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert [each.stat().st_mode & 0o777 for each in sorted(tmp_path.iterdir())] == [0o600, 0o600]


def test_replace_keeps_the_former_text(tmp_path: Path) -> None:
    path = str(tmp_path / "f.json")
    FILES.replace(path, b"one")
    assert FILES.read(path + ".bak") is None
    FILES.replace(path, b"two")
    assert (FILES.read(path), FILES.read(path + ".bak")) == (b"two", b"one")
    assert FILES.names(str(tmp_path)) == ["f.json", "f.json.bak"]


def test_missing_files(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert FILES.names(missing) == []
    assert FILES.size(missing) is None
    assert FILES.read(missing) is None
    FILES.remove(missing)
    FILES.remove_directory(missing)


def test_directories_are_removed_only_when_empty(tmp_path: Path) -> None:
    FILES.make_directory(str(tmp_path / "a" / "b"))
    FILES.remove_directory(str(tmp_path / "a"))
    assert (tmp_path / "a" / "b").is_dir()
    FILES.remove_directory(str(tmp_path / "a" / "b"))
    FILES.remove_directory(str(tmp_path / "a"))
    assert not (tmp_path / "a").exists()
    (tmp_path / "f").touch()
    with pytest.raises(NotADirectoryError):
        FILES.remove_directory(str(tmp_path / "f"))


class UnsyncedDirectory(FileSystem):
    def sync_directory(self, path: str) -> None:
        raise refusal(errno.EIO)


def test_a_directory_that_cannot_be_made_durable_is_not_left(tmp_path: Path) -> None:
    # Else the next call would find it, and think that it is durable.
    with pytest.raises(OSError, match="Input/output"):
        UnsyncedDirectory().make_directory(str(tmp_path / "a" / "b"))
    assert list(tmp_path.iterdir()) == []
    FILES.make_directory(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()


def test_a_range_is_written_again_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "f"
    data = os.urandom((2 << 20) + 5000)
    path.write_bytes(data)
    fd = FILES.open(str(path))
    FILES.rewrite(fd, 100, (2 << 20) + 500)
    FILES.close(fd)
    assert path.read_bytes() == data


def test_facts_of_the_machine() -> None:
    assert FILES.memory() > 1 << 20
    assert FILES.mappings() > 0


def test_a_new_file_is_never_seen_without_its_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000"
    seen = []
    real = os.ftruncate

    def resize(fd: int, size: int) -> None:
        seen.append(path.exists())
        real(fd, size)

    monkeypatch.setattr(os, "ftruncate", resize)
    os.close(FileSystem().create(str(path), 4096, b"head"))
    assert seen == [False]
    assert path.read_bytes() == b"head".ljust(4096, b"\0")


@pytest.mark.parametrize("call", ["open", "link"])
def test_a_file_is_made_where_it_cannot_have_a_size_before_a_name(
    call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = getattr(os, call)

    def without(*args: Any, **options: Any) -> Any:
        if call == "link" or args[1] & os.O_TMPFILE == os.O_TMPFILE:
            raise refusal(errno.EOPNOTSUPP)
        return real(*args, **options)

    monkeypatch.setattr(os, call, without)
    before = set(Path("/proc/self/fd").iterdir())
    os.close(FileSystem().create(str(tmp_path / "file"), 4096, b"head"))
    assert (tmp_path / "file").read_bytes() == b"head".ljust(4096, b"\0")
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_no_room_for_a_name_is_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def link(*_args: Any, **_options: Any) -> None:
        raise refusal(errno.ENOSPC)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(DiskFull):
        Segment(str(tmp_path / "file"), 0, 4096, FileSystem(), scattered=False).create()


def test_a_file_that_cannot_be_made_leaves_no_descriptor(tmp_path: Path) -> None:
    before = descriptors()
    with pytest.raises(OSError, match="Invalid argument"):
        FILES.create(str(tmp_path / "f"), -1)
    assert not descriptors() - before


class Odd(FileSystem):
    """A kernel that cannot prefault, or refuses."""

    code = errno.EINVAL

    def populate(self, mapping: mmap.mmap, offset: int, length: int) -> bool:
        raise refusal(self.code)


def test_pages_that_cannot_be_had_are_a_full_disk(tmp_path: Path) -> None:
    store = open_store(small(tmp_path), files=Odd())
    assert store.append([draft()]) == []
    assert isinstance(store.append_error, DiskFull)


def test_populate_does_without_where_the_kernel_cannot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fd = FILES.create(str(tmp_path / "f"), 8192)
    mapping = FILES.map(fd, 8192, scattered=False)
    assert FILES.populate(mapping, 100, 5000)
    monkeypatch.setattr("rocketwire.store.disk.files._MADV_POPULATE_WRITE", 9999)
    assert not FILES.populate(mapping, 100, 5000)
    with pytest.raises(ValueError, match="madvise"):
        FILES.populate(mapping, 1 << 20, 5000)
    FILES.close(fd)


class OldKernel(FileSystem):
    def populate(self, mapping: mmap.mmap, offset: int, length: int) -> bool:
        return False


def test_without_prefaulting_pages_are_touched_by_writing(tmp_path: Path) -> None:
    settings = small(tmp_path)
    for _ in range(2):
        store = open_store(settings, files=OldKernel())
        for n in range(60):
            store.append([draft(n)])
            store.dispatch_index()
        assert len(store.query("T", "k7", 32, 0, 1 << 60).records) >= 1
        store.close()
    store = open_store(settings)
    assert bodies(store) == [b"body-%d" % n for n in range(60)] * 2
    assert len(store.query("T", "k7", 32, 0, 1 << 60).records) == 2


def test_reserving_takes_less_when_there_is_less(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    segment = Segment(str(tmp_path / file_name(0)), 0, 1 << 20, disk, scattered=False)
    segment.create()
    disk.room = 5000
    segment.reserve(4096, 1 << 19)
    assert segment.reserved == 4096
    with pytest.raises(DiskFull):
        segment.reserve(8192, 1 << 19)
    assert segment.reserved == 4096
    segment.reserve(100, 1 << 19)
    disk.room = None
    segment.reserve(8192, 1 << 19)
    assert segment.reserved == 4096 + (1 << 19)


class Broken(FileSystem):
    def reserve(self, fd: int, offset: int, length: int) -> None:
        raise refusal(errno.EIO)

    def create(self, path: str, size: int, head: bytes = b"") -> int:
        raise refusal(errno.EIO)


def test_errors_that_are_no_full_disk_stay_what_they_are(tmp_path: Path) -> None:
    segment = Segment(str(tmp_path / "f"), 0, 4096, Broken(), scattered=False)
    with pytest.raises(OSError, match="Input/output"):
        segment.create()
    (tmp_path / "f").write_bytes(bytes(4096))
    with pytest.raises(OSError, match="Input/output"):
        segment.reserve(10, 10)


def test_few_files_of_a_row_stay_mapped(tmp_path: Path) -> None:
    row = Segments(str(tmp_path), 4096, FILES, most_mapped=2)
    for n in range(5):
        row.append(n * 4096)
    assert row.find(-1) is None
    assert row.find(5 * 4096) is None
    for n in range(5):
        found = row.find(n * 4096 + 7)
        assert found is not None
        assert found.start == n * 4096
        assert len(found.view) == 4096
    assert [row[n].is_mapped for n in range(5)] == [False, False, False, True, True]
    row.pin(row[0])
    row.find(4096)
    assert row[0].is_mapped
    assert row.find_unmapped(4095) is row[0]
    assert row.find_unmapped(1 << 30) is None
    row.unmap_all()
    assert not any(row[n].is_mapped for n in range(5))
    row.remove_first()
    row.remove_first()
    assert row.first is not None
    assert row.first.start == 8192
    row.truncate(12288 + 5, clear=True)
    assert [row[n].start for n in range(len(row))] == [8192, 12288]
    row.remove_first()
    row.remove_last()
    assert list(tmp_path.iterdir()) == []
    assert row.find(0) is None


class FailingDirectory(FileSystem):
    broken = False

    def sync_directory(self, path: str) -> None:
        if self.broken:
            raise refusal(errno.EIO)


def test_a_directory_that_was_not_synced_is_synced_again(tmp_path: Path) -> None:
    files = FailingDirectory()
    row = Segments(str(tmp_path), 4096, files, most_mapped=2)
    row.append(0)
    files.broken = True
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            row.sync_directory()
    files.broken = False
    row.sync_directory()
    # Nothing remains to sync.
    files.broken = True
    row.sync_directory()


class FewMappings(FileSystem):
    def mappings(self) -> int:
        return 8


def mapped_queues(root: Path) -> int:
    """How many files of a store's consume queues this process has mapped."""
    gc.collect()
    return sum(f"{root}/consumequeue/" in line for line in Path("/proc/self/maps").read_text().splitlines())


def test_many_queues_are_mapped_a_few_at_a_time(tmp_path: Path) -> None:
    settings = replace(small(tmp_path, commit_log_file_size=1 << 16), consume_queue_file_size=400)
    store = open_store(settings, files=FewMappings())
    for n in range(200):
        store.append([draft(n, topic=f"T{n % 50}")])
    assert 0 < mapped_queues(tmp_path) < 10
    for n in range(50):
        assert len(bodies(store, f"T{n}")) == 4
    assert mapped_queues(tmp_path) < 10
    store.close()
    store = open_store(settings, files=FewMappings())
    assert mapped_queues(tmp_path) < 10
    assert store.topics() == {f"T{n}" for n in range(50)}


def test_without_a_limit_of_the_system_mappings_have_the_usual_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("rocketwire.store.disk.files._MOST_MAPPINGS", tmp_path / "none")
    assert FILES.mappings() == 65_530


def test_directories_that_are_no_queue_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "consumequeue" / "T" / "notes").mkdir(parents=True)
    table = QueueTable(small(tmp_path), FILES)
    table.load(log_start=0, clean=True)
    assert len(table) == 0
    assert table.physical_end() == -1


def test_the_checkpoint_keeps_what_5x_wrote_behind(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(bytes(24) + (77).to_bytes(8) + bytes(4096 - 32))
    checkpoint = Checkpoint(str(path), FILES)
    assert checkpoint.recover_from == 0
    checkpoint.commit_log, checkpoint.consume_queue, checkpoint.index = 9000, 8000, 5
    checkpoint.save()
    again = Checkpoint(str(path), FILES)
    assert (again.commit_log, again.consume_queue, again.index) == (9000, 8000, 5)
    assert again.recover_from == 5000
    assert path.read_bytes()[24:32] == (77).to_bytes(8)
    path.write_bytes(b"short")
    short = Checkpoint(str(path), FILES)
    assert short.commit_log == 0
    short.create()
    assert path.read_bytes() == bytes(4096)


def test_a_removed_file_needs_no_flush(tmp_path: Path) -> None:
    segment = Segment(str(tmp_path / "f"), 0, 4096, FILES, scattered=False)
    segment.create()
    segment.remove()
    segment.sync(keep_open=True)
    assert not segment.keeps_descriptor
