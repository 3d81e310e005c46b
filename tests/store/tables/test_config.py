"""config/*.json as files: replaced whole, the former text kept, and read back from it when needed."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import ConfigInvalid, StoreNotWritable
from rocketwire.store.tables import config
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.request_modes import RequestModeTable
from rocketwire.store.tables.topics import TopicTable
from tests.store.crash_disk import refusal
from tests.store.support import Clock


def topics(path: Path, files: FileSystem | None = None) -> TopicTable:
    return TopicTable.open(path / "config" / "topics.json", files, clock=Clock())


def offsets(path: Path) -> OffsetTable:
    return OffsetTable.open(path / "config" / "consumerOffset.json")


@pytest.mark.parametrize("damage", [b"", b"  \n", b"{", b'{"offsetTable":{"T@G":5}}', b'{"offsetTable":7}', None])
def test_a_damaged_file_is_read_from_its_bak(tmp_path: Path, damage: bytes | None) -> None:
    table = offsets(tmp_path)
    table.commit("G", "T", 0, 5)
    table.persist()
    table.commit("G", "T", 0, 6)
    table.persist()
    path = tmp_path / "config" / "consumerOffset.json"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    assert offsets(tmp_path).query("G", "T", 0) == 5


def test_a_file_that_nothing_replaces_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "topics.json").write_bytes(b"not json")
    with pytest.raises(ConfigInvalid, match=r"topics\.json") as refused:
        topics(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("delayOffset.json", "all delayed messages that the log still holds are delivered again"),
        ("consumerOffset.json", "all groups begin as new ones do"),
        ("messageRequestMode.json", "the server starts as if it had never been written"),
    ],
)
def test_an_unreadable_file_names_its_remedy(tmp_path: Path, name: str, remedy: str) -> None:
    path = tmp_path / "config" / name
    path.parent.mkdir()
    path.write_bytes(b"not json")
    tables: dict[str, Any] = {"delayOffset.json": DelayOffsetTable, "messageRequestMode.json": RequestModeTable}
    with pytest.raises(ConfigInvalid) as refused:
        tables.get(name, OffsetTable).open(path)
    wanted = f"; put a good copy in its place, or move it and its .bak away: then {remedy}"
    assert str(refused.value).endswith(wanted)
    path.unlink()
    tables.get(name, OffsetTable).open(path)


class Unreadable(FileSystem):
    def read(self, path: str) -> bytes | None:
        raise refusal(errno.EACCES)


def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritable, match="Permission denied"):
        topics(tmp_path, Unreadable())


@pytest.mark.parametrize("damage", [b"", bytes(100), b'{\n\t"offsetTable":{"T@G":{0'])
def test_a_text_that_breaks_off_does_not_replace_the_bak(
    tmp_path: Path, damage: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = offsets(tmp_path)
    for offset in (5, 6):
        table.commit("G", "T", 0, offset)
        table.persist()
    (tmp_path / "config" / "consumerOffset.json").write_bytes(damage)
    table = offsets(tmp_path)
    assert "is not readable, " in caplog.text
    table.commit("G", "T", 0, 7)
    table.persist()
    assert offsets(tmp_path).query("G", "T", 0) == 7
    (tmp_path / "config" / "consumerOffset.json").unlink()
    assert offsets(tmp_path).query("G", "T", 0) == 5


def test_a_missing_file_is_taken_from_its_bak_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert config.load(str(tmp_path / "a.json"), FileSystem(), bytes) is None
    (tmp_path / "a.json.bak").write_bytes(b"{}")
    assert config.load(str(tmp_path / "a.json"), FileSystem(), bytes) == b"{}"
    assert caplog.text == ""
