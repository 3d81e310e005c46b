"""A file is replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocketwire.store.disk.replacing import replace_file, sync_folder


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    for data in (b"first", b"second, longer", b""):
        replace_file(tmp_path / "state", data)
        assert (tmp_path / "state").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_contents_and_name_are_flushed_before_and_after_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[str, bytes]] = []
    path = tmp_path / "state"
    path.write_bytes(b"former")

    def fsync(fd: int) -> None:
        flushed.append((Path(f"/proc/self/fd/{fd}").readlink().name, path.read_bytes()))

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(path, b"new")
    assert flushed == [("state.new", b"former"), (tmp_path.name, b"new")]


def test_the_former_contents_stay_if_the_new_ones_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    replace_file(tmp_path / "state", b"former")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(tmp_path / "state", b"new")
    assert (tmp_path / "state").read_bytes() == b"former"
    with pytest.raises(OSError, match="No space"):
        sync_folder(tmp_path)
