"""Reading files that other processes may be writing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.input_files import InputFile, entries, locked_by_another
from tests.store.support import descriptors


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    with InputFile(str(path)) as file:
        assert (file.path, file.size()) == (str(path), 10)
        assert file.read(3, 4) == b"3456"
        assert file.read(8, 4) == b"89"
        assert file.read(10, 4) == b""
        path.write_bytes(b"ab")  # cut under the reader
        assert (file.size(), file.read(0, 10)) == (2, b"ab")
        path.unlink()
        assert file.read(0, 10) == b"ab"


def test_a_read_that_comes_in_parts_is_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, length, at: real(fd, min(length, 3), at))
    with InputFile(str(path)) as file:
        assert file.read(1, 8) == b"12345678"
        assert file.read(5, 50) == b"56789"


def test_no_descriptor_remains(tmp_path: Path) -> None:
    before = descriptors()
    with pytest.raises(FileNotFoundError):
        InputFile(str(tmp_path / "missing"))
    os.mkfifo(tmp_path / "pipe")
    for name in (".", "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            InputFile(str(tmp_path / name))
    (tmp_path / "f").touch()
    file = InputFile(str(tmp_path / "f"))
    file.close()
    file.close()
    forgotten = InputFile(str(tmp_path / "f"))
    del forgotten
    assert not descriptors() - before


def test_what_a_directory_holds(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_bytes(bytes(5000))
    os.utime(tmp_path / "a", ns=(0, 1_700_000_000_123_000_000))
    os.mkfifo(tmp_path / "c")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    found = entries(str(tmp_path))
    assert [(each.name, each.directory, each.regular) for each in found] == [
        ("a", False, True),
        ("b", True, False),
        ("c", False, False),
    ]
    assert (found[0].size, found[0].modified) == (5000, 1_700_000_000_123)
    assert found[0].allocated == (tmp_path / "a").stat().st_blocks * 512
    for name in ("missing", "a"):
        with pytest.raises(OSError, match=r"No such file|Not a directory"):
            entries(str(tmp_path / name))


def test_the_holder_of_a_lock_is_found_without_taking_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = FileSystem()
    path = str(tmp_path / "lock")
    assert not locked_by_another(path)
    assert not (tmp_path / "lock").exists()
    fd = files.lock(path)
    assert locked_by_another(path)
    files.close(fd)
    assert not locked_by_another(path)

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(PermissionError):
            locked_by_another(path)
