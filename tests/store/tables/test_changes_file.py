from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables.changes_file import ChangesFile


class Table:
    """A table of numbers by name beside its file of changes, with writes in two halves."""

    def __init__(self, folder: Path, files: FileSystem | None = None) -> None:
        self.file = folder / "table"
        self.base = self.file.read_bytes() if self.file.exists() else b""
        self.values = {
            name: int(value) for name, _, value in (line.partition("=") for line in self.base.decode().split())
        }
        self.changes = ChangesFile(str(folder / "changes"), files or FileSystem(), self.base)
        for change in self.changes.unsaved_changes:
            self.values[change["name"]] = change["value"]

    def put(self, name: str, value: int) -> None:
        self.values[name] = value
        self.changes.append_change({"name": name, "value": value})

    def begin(self) -> dict[str, int]:
        self.changes.begin_text()
        return dict(self.values)

    def follow(self, values: dict[str, int]) -> bytes:
        text = "\n".join(f"{name}={value}" for name, value in sorted(values.items())).encode()
        self.changes.note_text(text)
        return text

    def write(self, text: bytes) -> None:
        self.file.write_bytes(text)
        self.changes.note_written()

    def save(self) -> None:
        self.write(self.follow(self.begin()))


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_changes_since_the_last_text_stay(tmp_path: Path) -> None:
    table = Table(tmp_path)
    assert names(tmp_path) == set()
    table.put("a", 1)
    table.save()
    table.put("b", 2)
    table.put("b", 3)
    again = Table(tmp_path)
    assert again.changes.unsaved_changes[-2:] == [{"name": "b", "value": 2}, {"name": "b", "value": 3}]
    assert again.values == {"a": 1, "b": 3}


def test_a_table_that_has_all_leaves_no_file(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.put("a", 1)
    table.save()
    table.put("a", 2)
    table.save()
    table.changes.remove()
    assert names(tmp_path) == {"table"}
    assert Table(tmp_path).changes.unsaved_changes == []


def test_changes_do_not_belong_on_what_another_wrote(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.put("a", 1)
    table.save()
    table.put("a", 2)
    (tmp_path / "table").write_bytes(b"a=7")
    again = Table(tmp_path)
    assert again.values == {"a": 7}
    again.put("b", 1)
    assert Table(tmp_path).values == {"a": 7, "b": 1}


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data[:-1] + b"x", lambda data: data + b"\0" * 9]
)
def test_it_is_read_up_to_what_is_damaged(tmp_path: Path, damage: Any) -> None:
    table = Table(tmp_path)
    table.put("a", 1)
    table.put("b", 2)
    path = tmp_path / "changes"
    path.write_bytes(damage(path.read_bytes()))
    assert Table(tmp_path).values in ({"a": 1}, {"a": 1, "b": 2})


def test_a_file_grows_no_longer_than_between_two_texts(tmp_path: Path) -> None:
    table = Table(tmp_path)
    sizes = []
    for _ in range(5):
        for number in range(10):
            table.put("a", number)
        table.save()
        sizes.append((tmp_path / "changes.old").stat().st_size)
    assert max(sizes[1:]) == min(sizes[1:])


class Full(FileSystem):
    """A disk that may be full for the files of changes."""

    full = False

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        self._check()
        super().write_at(fd, data, offset)

    def write(self, path: str, data: bytes, *, like: str | None = None, durable: bool = True) -> None:
        self._check()
        super().write(path, data, like=like, durable=durable)

    def _check(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")


def test_after_a_full_disk_nothing_old_is_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = Full()
    table = Table(tmp_path, files)
    table.put("a", 1)
    files.full = True
    table.put("a", 2)
    table.put("a", 3)
    assert len(caplog.records) == 1
    files.full = False
    table.save()
    table.put("b", 1)
    assert Table(tmp_path).values == {"a": 3, "b": 1}


class Killed(RuleBasedStateMachine):
    """A table whose process is killed at any moment, also between the halves of a write, loses no change."""

    @initialize(folder=st.uuids())
    def start(self, folder: Any) -> None:
        self.folder = Path(BASE[0]) / str(folder)
        self.folder.mkdir(exist_ok=True)
        for each in self.folder.iterdir():
            each.unlink()
        self.table = Table(self.folder)
        self.expected: dict[str, int] = {}
        self.begun: dict[str, int] | None = None
        self.text: bytes | None = None

    @rule(name=st.sampled_from("abc"), value=st.integers(0, 3))
    def put(self, name: str, value: int) -> None:
        self.table.put(name, value)
        self.expected[name] = value

    @precondition(lambda self: self.begun is None and self.text is None)
    @rule()
    def begin(self) -> None:
        self.begun = self.table.begin()

    @precondition(lambda self: self.begun is not None)
    @rule()
    def follow(self) -> None:
        assert self.begun is not None
        self.text, self.begun = self.table.follow(self.begun), None

    @precondition(lambda self: self.text is not None)
    @rule(fails=st.booleans())
    def write(self, *, fails: bool) -> None:
        assert self.text is not None
        if not fails:
            self.table.write(self.text)
        self.text = None

    @rule()
    def kill(self) -> None:
        self.table = Table(self.folder)
        self.begun = self.text = None

    @precondition(lambda self: self.begun is None and self.text is None)
    @rule()
    def stop(self) -> None:
        self.table.save()
        self.table.changes.remove()
        self.table = Table(self.folder)
        assert self.table.changes.unsaved_changes == []

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "table"):
            assert self.table.values == self.expected


BASE: list[str] = []


@pytest.mark.hypothesis
def test_a_killed_process_loses_no_change(tmp_path: Path) -> None:
    BASE[:] = [str(tmp_path)]
    run_state_machine_as_test(Killed, settings=settings(deadline=None))
