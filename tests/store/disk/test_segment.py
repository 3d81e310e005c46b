"""The advice to the kernel about the mapping of a file."""

from __future__ import annotations

import mmap
from pathlib import Path

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.segment import Segment
from tests.store.support import draft, open_store, small


class Mapped(FileSystem):
    """Notes which files are mapped as scattered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.scattered: set[tuple[str, bool]] = set()

    def map(self, fd: int, size: int, *, scattered: bool) -> mmap.mmap:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        self.scattered.add((path.relative_to(self.root).parts[0], scattered))
        return super().map(fd, size, scattered=scattered)


def test_only_the_commit_log_is_read_ahead(tmp_path: Path) -> None:
    files = Mapped(tmp_path)
    store = open_store(small(tmp_path), files=files)
    store.append([draft()])
    assert len(store.query("T", "k0", 1, 0, 1 << 60).records) == 1
    store.close()
    assert files.scattered == {("commitlog", False), ("consumequeue", True), ("index", True)}


def test_read_ahead_is_switched_off(tmp_path: Path) -> None:
    for scattered in (False, True):
        path = str(tmp_path / f"{scattered}")
        segment = Segment(path, 0, 1 << 20, FileSystem(), scattered=scattered)
        segment.create()
        segment.populate(0, 1 << 20)  # more than a few pages are read together, and the advice is given again
        segment.prefetch(5000, 10_000)
        assert ("rr" in vm_flags(path)) == scattered


def vm_flags(path: str) -> list[str]:
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    assert any(line.endswith(path) for line in lines)
    return next(line.split() for line in lines if line.startswith("VmFlags:"))
