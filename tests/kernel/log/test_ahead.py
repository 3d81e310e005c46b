"""The thread that faults pages in ahead of a writer."""

import mmap
import time
from pathlib import Path

import pytest

from rocketwire import _kernel as kernel

SIZE = 4 << 20


def sparse(path: Path) -> mmap.mmap:
    with path.open("w+b") as file:
        file.truncate(SIZE)
        return mmap.mmap(file.fileno(), SIZE)


def resident(path: Path) -> int:
    """KiB of the file's mappings that are in page tables."""
    found = 0
    of_file = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0]:
            of_file = line.endswith(str(path))
        elif of_file and words[0] == "Rss:":
            found += int(words[1])
    return found


def becomes_resident(path: Path, kibibytes: int) -> None:
    until = time.monotonic() + 120
    while resident(path) < kibibytes:
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_range_is_faulted_in_and_nothing_is_changed(tmp_path: Path) -> None:
    mapping = sparse(tmp_path / "f")
    mapping[:5] = b"first"
    ahead = kernel.PageFaulter()
    ahead.populate(mapping, str(tmp_path / "f"), 4096, 1 << 20)
    becomes_resident(tmp_path / "f", 1 << 10)
    assert mapping[:5] == b"first"
    assert mapping[5:] == bytes(SIZE - 5)


def test_the_range_moves_on_and_to_another_mapping(tmp_path: Path) -> None:
    first, second = sparse(tmp_path / "f"), sparse(tmp_path / "g")
    ahead = kernel.PageFaulter()
    for at in range(0, SIZE >> 1, 1 << 16):
        ahead.populate(first, str(tmp_path / "f"), at, SIZE >> 1)
    becomes_resident(tmp_path / "f", SIZE >> 11)
    ahead.populate(second, str(tmp_path / "g"), SIZE >> 1, SIZE >> 1)
    becomes_resident(tmp_path / "g", SIZE >> 11)


def test_after_stop_the_mapping_may_be_closed(tmp_path: Path) -> None:
    mapping = sparse(tmp_path / "f")
    ahead = kernel.PageFaulter()
    ahead.stop()
    ahead.populate(mapping, str(tmp_path / "f"), 0, SIZE)
    with pytest.raises(BufferError):
        mapping.close()
    ahead.stop()
    mapping.close()
    again = sparse(tmp_path / "g")
    ahead.populate(again, str(tmp_path / "g"), 0, SIZE)
    becomes_resident(tmp_path / "g", SIZE >> 10)


def test_what_the_system_refuses_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "f"
    mapping = sparse(path)
    with path.open("r+b") as file:
        file.truncate(1 << 16)
    ahead = kernel.PageFaulter()
    ahead.populate(mapping, str(tmp_path / "f"), 0, SIZE)
    becomes_resident(path, 1 << 6)
    ahead.populate(mapping, str(tmp_path / "f"), 0, 1 << 16)
    del ahead  # ends the thread
    assert mapping[:8] == bytes(8)


@pytest.mark.parametrize(
    ("start", "length"), [(-4096, 10), (0, -1), (0, SIZE + 1), (SIZE, 1), (SIZE + 4096, 0), (1, 1)]
)
def test_a_wrong_range_is_refused(tmp_path: Path, start: int, length: int) -> None:
    with pytest.raises(ValueError, match="not in the mapping"):
        kernel.PageFaulter().populate(sparse(tmp_path / "f"), str(tmp_path / "f"), start, length)


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(BufferError):
        kernel.PageFaulter().populate(mmap.mmap(-1, 4096, access=mmap.ACCESS_READ), "/", 0, 4096)


def test_writes_to_a_range_that_is_taken_back_stay(tmp_path: Path) -> None:
    mapping = sparse(tmp_path / "f")
    ahead = kernel.PageFaulter()
    step = 3 * 4096
    ahead.populate(mapping, str(tmp_path / "f"), 0, SIZE)
    for at in range(0, SIZE - step, step):
        ahead.populate(mapping, str(tmp_path / "f"), at + step, SIZE - at - step)
        mapping[at : at + step] = bytes([at // step % 255 + 1]) * step
    ahead.stop()
    for at in range(0, SIZE - step, step):
        assert mapping[at : at + step] == bytes([at // step % 255 + 1]) * step


def test_a_file_that_cannot_be_opened_is_only_faulted_in(tmp_path: Path) -> None:
    mapping = sparse(tmp_path / "f")
    mapping[:5] = b"first"
    ahead = kernel.PageFaulter()
    ahead.populate(mapping, str(tmp_path / "none"), 0, SIZE)
    becomes_resident(tmp_path / "f", SIZE >> 10)
    assert mapping[:5] == b"first"
